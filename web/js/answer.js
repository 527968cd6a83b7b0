// One answer as it is made: asks the server, takes the pieces, and keeps what came whatever happens to the connection.
import { ApiError, events, postJson } from "./api.js";
import { Stopwatch } from "./timing.js";

const NUMBERS = ["temperature", "top_p", "top_k", "min_p", "max_tokens"];

/** The request's body; empty settings are the server's to choose. */
export function requestBody(messages, settings) {
  const body = { messages, stream: true, stream_options: { include_usage: true }, timings: true };
  for (const name of NUMBERS) if (String(settings[name]).trim() !== "") body[name] = Number(settings[name]);
  // A seed may be larger than what a double holds exactly; the server takes 64 bits, the page only what it can write exactly.
  if (String(settings.seed).trim() !== "") body.seed = Number(settings.seed);
  if (settings.service_class) body.service_class = settings.service_class;
  return body;
}

export class Answer {
  /** `node` gets the text and what is known of it; `changed` is called after each change. */
  constructor(node, changed) {
    Object.assign(this, { node, changed, abort: new AbortController(), watch: new Stopwatch(), expectedMs: null });
  }

  stop() {
    this.isStopped = true;
    this.abort.abort();
  }

  /** Resolves when the answer has ended, in whichever way; node.state says how: done, stopped, interrupted or failed. */
  async run(messages, settings) {
    this.node.state = "streaming";
    try {
      const response = await postJson("/v1/chat/completions", requestBody(messages, settings), { signal: this.abort.signal });
      this.node.request = response.headers.get("x-request-id") ?? undefined;
      this.expectedMs = Number(response.headers.get("x-takt-predicted-ttft-ms")) || null;
      await this.take(response);
    } catch (error) {
      this.fail(error);
    }
    if (this.watch.pieces.length) this.node.seen = this.watch.seen();
    this.changed();
  }

  async take(response) {
    let isComplete = false;
    for await (const event of events(response)) {
      if (event.data === "[DONE]") { isComplete = true; continue; }
      const chunk = JSON.parse(event.data);
      if (chunk.error) throw new ApiError(500, chunk.error.message ?? "The server gave up.", chunk.error);
      this.takeChunk(chunk);
      this.changed();
    }
    if (!isComplete && !this.node.finish) throw new ApiError(0, "The answer broke off: the server closed the connection.");
    this.node.state = "done";
  }

  takeChunk(chunk) {
    const choice = chunk.choices?.[0];
    if (choice?.delta?.content) {
      this.watch.note();
      this.node.text += choice.delta.content;
    }
    if (choice?.finish_reason) this.node.finish = choice.finish_reason;
    if (chunk.timings) this.node.timings = chunk.timings;
    if (chunk.seed !== undefined) this.node.seed = chunk.seed;
    if (chunk.model) this.node.model = chunk.model;
  }

  fail(error) {
    if (this.isStopped) {
      this.node.state = "stopped";
      return;
    }
    this.node.state = this.node.text ? "interrupted" : "failed";
    this.node.trouble = error instanceof ApiError ? error.message : `The page failed: ${error.message}`;
    this.node.status = error.status ?? -1;
  }
}

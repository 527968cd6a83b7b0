// Talking to the server that the page came from, and to no other.

const KEY = "takt.key";

function stores() {
  try { return [sessionStorage, localStorage]; } catch { return []; }
}

/** The API key kept in this tab or on this device, or "". */
export function apiKey() {
  for (const store of stores()) {
    const key = store.getItem(KEY);
    if (key) return key;
  }
  return "";
}

export function setApiKey(key, isKept) {
  const [tab, device] = stores();
  tab?.removeItem(KEY);
  device?.removeItem(KEY);
  if (key) (isKept ? device : tab)?.setItem(KEY, key);
}

/** What went wrong, in words for the reader. `status` is 0 when the server could not be reached. */
export class ApiError extends Error {
  constructor(status, message, { code = "", param = "", requestId = "" } = {}) {
    super(message);
    Object.assign(this, { status, code, param, requestId });
  }
}

async function errorOf(response) {
  const requestId = response.headers.get("x-request-id") ?? "";
  let error = {};
  try { error = (await response.json()).error ?? {}; } catch { /* not JSON: a proxy's page, perhaps */ }
  const wait = Number(response.headers.get("Retry-After"));
  const hint = wait > 0 && error.code !== "loading_model" ? ` Try again in ${wait} s.` : "";
  const message = error.message ? sentence(error.message) : `The server answered ${response.status}.`;
  return new ApiError(response.status, message + hint, { code: error.code ?? "", param: error.param ?? "", requestId });
}

function sentence(text) {
  const first = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(first) ? first : first + ".";
}

/** fetch() with the API key; throws ApiError unless the status is 2xx. */
export async function request(path, options = {}) {
  const headers = new Headers(options.headers);
  const key = apiKey();
  if (key) headers.set("Authorization", `Bearer ${key}`);
  let response;
  try {
    response = await fetch(path, { ...options, headers, cache: "no-store" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, "The server cannot be reached.");
  }
  if (!response.ok) throw await errorOf(response);
  return response;
}

export const getJson = async (path, options) => (await request(path, options)).json();

export const postJson = (path, body, options = {}) =>
  request(path, { ...options, method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });

/** The events of a text/event-stream body, as {event, data, id}. Ends where the body ends; throws ApiError(0) where it breaks. */
export async function* events(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    let piece;
    try {
      piece = await reader.read();
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new ApiError(0, "The connection to the server broke.");
    }
    if (piece.done) return;
    rest += piece.value;
    const blocks = rest.split(/\r?\n\r?\n/);
    rest = blocks.pop();
    for (const block of blocks) {
      const event = { event: "message", data: "", id: "" };
      for (const line of block.split(/\r?\n/)) {
        const colon = line.indexOf(":");
        if (colon <= 0) continue;  // a comment keeps the connection alive
        const name = line.slice(0, colon), value = line.slice(colon + 1).replace(/^ /, "");
        if (name === "data") event.data += (event.data && "\n") + value;
        else if (name === "event" || name === "id") event[name] = value;
      }
      if (event.data) yield event;
    }
  }
}

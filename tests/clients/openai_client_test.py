"""The official `openai` package against a running server.

Usage: openai_client_test.py http://127.0.0.1:8080

Needs the package `openai`; exits 0 with "skipped: needs …" without it. Works with any model, because every answer is compared
with another one of the same server and never with a fixed text.
"""

import json
import math
import sys
import threading
import time
import urllib.request

try:
    import openai
except ImportError:
    print("skipped: needs the Python package openai")
    sys.exit(0)

FAILURES = []
CHAT = [{"role": "system", "content": "You are terse."}, {"role": "user", "content": "Count from one to ten in words."}]
PROMPT = "Once upon a time, in a small village by the sea, there lived"


def check(condition, what):
    if not condition:
        FAILURES.append(what)
        print(f"  FAILED: {what}")


def fetch(url, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as reply:
        return reply.read().decode()


def gauge(base, name):
    for line in fetch(base + "/metrics").splitlines():
        if line.startswith(name + " "):
            return float(line.split()[1])
    raise KeyError(name)


def stream_chat(client, **arguments):
    """Joined text, finish reason, usage and chunk count of a streamed chat."""
    text, finish, usage, count = "", None, None, 0
    for chunk in client.chat.completions.create(
        model="any", messages=CHAT, stream=True, stream_options={"include_usage": True}, **arguments
    ):
        count += 1
        if chunk.usage:
            usage = chunk.usage
            check(not chunk.choices, "the usage chunk has no choices")
        for choice in chunk.choices:
            text += choice.delta.content or ""
            finish = choice.finish_reason or finish
    return text, finish, usage, count


def test_models(client, base):
    models = list(client.models.list())
    check(len(models) == 1, "one model is listed")
    check(client.models.retrieve(models[0].id).id == models[0].id, "the model is found by its id")
    check(json.loads(fetch(base + "/health"))["status"] == "ok", "health is ok")


def test_chat(client, base):
    for arguments in ({"temperature": 0}, {"temperature": 1.0, "seed": 7}):
        whole = client.chat.completions.create(model="any", messages=CHAT, max_tokens=40, **arguments)
        text, finish, usage, count = stream_chat(client, max_tokens=40, **arguments)
        check(whole.choices[0].message.role == "assistant", "the role is assistant")
        check(text == whole.choices[0].message.content, f"streamed text equals the whole reply's ({arguments})")
        check(finish == whole.choices[0].finish_reason, "finish reasons agree")
        check(usage == whole.usage or usage.completion_tokens == whole.usage.completion_tokens, "usages agree")
        check(usage.total_tokens == usage.prompt_tokens + usage.completion_tokens, "usage adds up")
        check(count > 3, "the answer came in pieces")


def test_completions(client, base):
    whole = client.completions.create(model="any", prompt=PROMPT, max_tokens=32, temperature=0)
    streamed = client.completions.create(model="any", prompt=PROMPT, max_tokens=32, temperature=0, stream=True)
    text = "".join(choice.text for chunk in streamed for choice in chunk.choices)
    check(text == whole.choices[0].text, "streamed completion equals the whole reply")
    ids = json.loads(fetch(base + "/tokenize", {"content": PROMPT, "add_special": True}))["tokens"]
    from_ids = client.completions.create(model="any", prompt=ids, max_tokens=32, temperature=0)
    check(from_ids.choices[0].text == whole.choices[0].text, "a prompt as token ids gives the same answer")
    several = client.completions.create(model="any", prompt=["Hello", PROMPT], max_tokens=32, temperature=0)
    check(several.choices[1].text == whole.choices[0].text, "a prompt in a list gives the same answer")
    echoed = client.completions.create(model="any", prompt=PROMPT, max_tokens=2, temperature=0, echo=True)
    check(echoed.choices[0].text.startswith(PROMPT), "echo begins with the prompt")


def test_lengths(client, base):
    for count in (0, 1, 2, 5):
        reply = client.completions.create(
            model="any", prompt=PROMPT, max_tokens=count, temperature=0, extra_body={"ignore_eos": True}
        )
        check(reply.usage.completion_tokens == count, f"max_tokens {count} is exact")
        check(reply.choices[0].finish_reason == "length", f"max_tokens {count} ends by length")
    reply = client.chat.completions.create(model="any", messages=CHAT, max_completion_tokens=3, temperature=0)
    check(reply.usage.completion_tokens <= 3, "max_completion_tokens is honoured")
    timings = reply.model_dump()["timings"]
    check(timings["predicted_n"] == reply.usage.completion_tokens, "timings count the output tokens")
    check(timings["prompt_n"] + timings["cache_n"] == reply.usage.prompt_tokens, "timings count the prompt tokens")


def test_stop(client, base):
    whole = client.completions.create(model="any", prompt=PROMPT, max_tokens=32, temperature=0).choices[0].text
    stop = whole[len(whole) // 2 : len(whole) // 2 + 4]
    expected = whole[: whole.index(stop)]
    reply = client.completions.create(model="any", prompt=PROMPT, max_tokens=32, temperature=0, stop=[stop, "\0never"])
    check(reply.choices[0].text == expected, "a stop string ends the answer before it")
    check(reply.choices[0].finish_reason == "stop", "finish reason of a stop string")
    streamed = client.completions.create(
        model="any", prompt=PROMPT, max_tokens=32, temperature=0, stop=stop, stream=True
    )
    check("".join(c.text for chunk in streamed for c in chunk.choices) == expected, "the same in a stream")


def test_seeds(client, base):
    def run(**arguments):
        reply = client.completions.create(model="any", prompt=PROMPT, max_tokens=24, temperature=1.5, **arguments)
        return [choice.text for choice in reply.choices], reply.model_dump()["seed"]

    first = run(seed=42)
    check(run(seed=42) == first and first[1] == 42, "a seed repeats its answer and is reported")
    check(run(seed=43)[0] != first[0], "another seed gives another answer")
    drawn = run()
    check(run(seed=drawn[1])[0] == drawn[0], "the reported random seed repeats the answer")
    choices = run(seed=42, n=3)[0]
    check(len(choices) == 3 and choices[:1] == first[0] and len(set(choices)) > 1, "n answers, the first as if alone")


def test_logprobs(client, base):
    reply = client.chat.completions.create(
        model="any", messages=CHAT, max_tokens=8, temperature=0, logprobs=True, top_logprobs=5
    )
    content = reply.choices[0].logprobs.content
    check(len(content) == reply.usage.completion_tokens, "one entry for each output token")
    for entry in content:
        check(len(entry.top_logprobs) == 5, "five best tokens")
        best = max(top.logprob for top in entry.top_logprobs)
        check(entry.logprob == best, "greedy takes the best")
        check(sum(math.exp(top.logprob) for top in entry.top_logprobs) < 1.001, "probabilities add up to one at most")
    old = client.completions.create(model="any", prompt=PROMPT, max_tokens=4, temperature=0, logprobs=2)
    logprobs = old.choices[0].logprobs
    check(len(logprobs.tokens) == len(logprobs.token_logprobs) == len(logprobs.text_offset) == 4, "completion logprobs")


def test_errors(client, base):
    cases = [
        ({"max_tokens": -2}, "max_tokens"),
        ({"temperature": -1}, "temperature"),
        ({"extra_body": {"top_k": "many"}}, "top_k"),
        ({"messages": []}, "messages"),
        ({"response_format": {"type": "json_object"}}, "response_format.type"),
    ]
    for arguments, param in cases:
        try:
            client.chat.completions.create(**{"model": "any", "messages": CHAT, **arguments})
            check(False, f"{param} is refused")
        except openai.BadRequestError as error:
            check(error.body["param"] == param, f"the error names {param}")
    try:
        # (As extra_body, because the package takes ten seconds to look at a list of that length.)
        client.completions.create(model="any", prompt="", max_tokens=1, extra_body={"prompt": [1] * 300_000})
        check(False, "a prompt beyond the context is refused")
    except openai.BadRequestError as error:
        check(error.body["type"] == "exceed_context_size_error", "type of a context overflow")
        check(error.body["n_prompt_tokens"] == 300_000 and error.body["n_ctx"] > 0, "both numbers of a context overflow")
    try:
        client.models.retrieve("no-such-model")
        check(False, "an unknown model is not found")
    except openai.NotFoundError:
        pass


def test_cancel(client, base):
    def run(stream):
        endless = {"model": "any", "prompt": PROMPT, "max_tokens": 100_000, "extra_body": {"ignore_eos": True}}
        if stream:
            reply = client.completions.create(stream=True, **endless)
            for _, _chunk in zip(range(3), reply):
                pass
            reply.close()
        else:
            try:
                client.with_options(timeout=0.3, max_retries=0).completions.create(**endless)
            except openai.APITimeoutError:
                pass

    for stream in (True, False):
        run(stream)
        deadline = time.time() + 5
        while gauge(base, "takt_requests_decoding") > 0 and time.time() < deadline:
            time.sleep(0.02)
        check(gauge(base, "takt_requests_decoding") == 0, f"a client that left costs nothing more (stream={stream})")


def test_many_at_once(client, base):
    alone = stream_chat(client, max_tokens=24, temperature=1.0, seed=5)[0]
    texts = [None] * 8

    def run(i):
        texts[i] = stream_chat(client, max_tokens=24, temperature=1.0, seed=5)[0]

    threads = [threading.Thread(target=run, args=(i,)) for i in range(len(texts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    check(all(text == alone for text in texts), "eight at once answer as one alone")


def main():
    base = sys.argv[1].rstrip("/")
    client = openai.OpenAI(base_url=base + "/v1", api_key="none", max_retries=0, timeout=300)
    tests = [value for name, value in globals().items() if name.startswith("test_")]
    for test in tests:
        begin = time.time()
        test(client, base)
        print(f"{test.__name__}: {time.time() - begin:.1f} s")
    print(f"{len(tests)} tests, {len(FAILURES)} failures")
    return 1 if FAILURES else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""A long prompt comes while a chat streams: `explain_test.py http://HOST:PORT`. The server says which of the chat's tokens were late
and that the long prompt made them so, and every sum is exact."""
import json
import sys
import threading
import urllib.request

BASE = sys.argv[1].rstrip("/")


def fetch(path, body=None, request_id=None):
    headers = {"x-request-id": request_id} if request_id else {}
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(BASE + path, data=data, headers=headers), timeout=300) as reply:
        return reply.read().decode()


def check(holds, what):
    if not holds:
        sys.exit(f"failed: {what}")
    print(f"ok: {what}")


def run_both():
    """The chat goes on until the long prompt has been answered."""
    body = {"prompt": "Once upon a time", "max_tokens": 400, "ignore_eos": True, "stream": True, "temperature": 0}
    request = urllib.request.Request(BASE + "/v1/completions", data=json.dumps(body).encode(), headers={"x-request-id": "explain-chat"})
    long_prompt = {"prompt": " ".join(f"item {i}" for i in range(250)), "max_tokens": 2, "timings": True, "cache_prompt": False}
    answers = []
    asker = threading.Thread(target=lambda: answers.append(json.loads(fetch("/v1/completions", long_prompt, "explain-long"))))
    with urllib.request.urlopen(request, timeout=300) as stream:
        for count, line in enumerate(stream):
            if count == 10:
                asker.start()
            if not line:
                break
    asker.join()
    return answers[0]


def check_sums(request):
    check(sum(request["phases_us"].values()) == request["end_to_end_us"], f"{request['id']}: the phases are its whole time")
    for gap in [request["first_token"], *request["gaps"]]:
        if sum(gap["parts"].values()) != gap["gap_us"]:
            sys.exit(f"failed: the parts of a gap sum to it: {gap}")
        if sum(gap["caused_by"].values()) != gap["parts"].get("other_prefill", 0):
            sys.exit(f"failed: the causes are the other prompts' part: {gap}")
    print(f"ok: {request['id']}: the parts of each of {len(request['gaps'])} gaps sum to it")


def main():
    answer = run_both()
    timings = answer["timings"]
    check(sum(timings["phases_us"].values()) == timings["end_to_end_us"], "the timings of a reply sum up")
    chat = json.loads(fetch("/v1/takt/requests/explain-chat"))
    by_reply = json.loads(fetch("/v1/takt/requests/" + answer["id"]))
    check(by_reply["id"] == "explain-long", "a request is found by its reply's id")
    check_sums(chat)
    check_sums(by_reply)
    caused = [gap for gap in chat["gaps"] if gap["caused_by"].get("explain-long", 0) > 0]
    check(caused, f"{len(caused)} of the chat's gaps have the long prompt in them")
    alone = sorted(gap["gap_us"] for gap in chat["gaps"] if not gap["caused_by"])
    latest = max(caused, key=lambda gap: gap["gap_us"])
    check(latest["gap_us"] > alone[len(alone) // 2], "they are longer than the others")
    check(any("explain-long's prefill chunk" in sentence for sentence in chat["words"]), f"in words: {chat['words'][0]}")


if __name__ == "__main__":
    main()

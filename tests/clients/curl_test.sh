#!/usr/bin/env bash
# curl against a running server: what people type. Usage: curl_test.sh http://127.0.0.1:8080
set -u
base=${1%/}
failures=0
command -v curl >/dev/null || { echo "skipped: needs curl"; exit 0; }

expect() {  # expect WHAT PATTERN TEXT
  if ! grep -q -- "$2" <<<"$3"; then
    echo "  FAILED: $1: no '$2' in: ${3:0:400}"
    failures=$((failures + 1))
  fi
}

call() { curl --silent --show-error --max-time 120 "$@" 2>&1; }

expect "health" '"ok"' "$(call "$base/health")"
expect "start page" 'Takt' "$(call "$base/")"
expect "HEAD" '200 OK' "$(call --head "$base/health")"
expect "unknown path" '404' "$(call --include "$base/nothing")"
expect "wrong method" 'Allow: POST' "$(call --include "$base/v1/completions")"
expect "metrics" 'takt_requests_waiting' "$(call "$base/metrics")"

chat='{"messages":[{"role":"user","content":"Hi"}],"max_tokens":8,"temperature":0}'
expect "chat without a content type" '"finish_reason"' "$(call "$base/v1/chat/completions" --data "$chat")"
expect "request id" 'x-request-id: my-1' "$(call --include -H 'X-Request-Id: my-1' "$base/v1/chat/completions" --data "$chat")"
expect "HTTP/1.0" '"finish_reason"' "$(call --http1.0 "$base/v1/chat/completions" --data "$chat")"
stream=$(call --no-buffer "$base/v1/chat/completions" --data "${chat/\{/\{\"stream\":true,}")
expect "stream" 'data: \[DONE\]' "$stream"
expect "stream's role" '"role":"assistant"' "$stream"
expect "HTTP/1.0 stream" 'data: \[DONE\]' "$(call --http1.0 --no-buffer "$base/v1/completions" \
  --data '{"prompt":"a","max_tokens":2,"stream":true}')"
expect "broken JSON" '"code":"invalid_json"' "$(call "$base/v1/completions" --data '{"prompt":')"

# Larger than 1 MiB: curl asks with "Expect: 100-continue" first, and here sends it in chunks too.
large=$(mktemp)
trap 'rm -f "$large"' EXIT
{ printf '{"content":"'; head -c 2000000 /dev/zero | tr '\0' 'a'; printf '"}'; } >"$large"
expect "large body" '"tokens"' "$(call "$base/tokenize" --data-binary "@$large" | head -c 100)"
expect "chunked body" '"tokens"' "$(call -H 'Transfer-Encoding: chunked' "$base/tokenize" --data-binary "@$large" | head -c 100)"
expect "too large" '"code":"request_too_large"' "$(head -c 40000000 /dev/zero | call "$base/tokenize" --data-binary @-)"

# A client that gives up must not leave its request running.
for _ in 1 2 3 4 5; do
  curl --silent --max-time 0.2 --output /dev/null "$base/v1/completions" \
    --data '{"prompt":"Once","max_tokens":100000,"ignore_eos":true}'
done
sleep 1
expect "left clients cost nothing" 'takt_requests_decoding 0' "$(call "$base/metrics")"

echo "curl: $failures failures"
[ "$failures" -eq 0 ]

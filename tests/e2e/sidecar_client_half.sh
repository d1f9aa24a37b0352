#!/usr/bin/env bash
# The client half, by libcurl, and a real gate understand each other: what each tells the other in headers.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/sidecar.sh
. "$(dirname "$0")/sidecar.sh"

# ask PATH PATIENCE_MS: $how is the status, how it ended, the attempts and why not more; the answer in $work/body.
# How a call ended is compared in $how; the exit code says no more.
ask() {
  "$LOADLINE_CURL_ASK" "http://127.0.0.1:$port$1" "$2" >"$work/asked" || true
  how=$(head -n 1 "$work/asked")
  tail -n +2 "$work/asked" >"$work/body"
}
# header NAME: as it came to the service.
header() { jq -r "[.headers[] | select((.[0] | ascii_downcase) == \"$1\") | .[1]] | first // \"\"" "$work/body"; }

start_service --workers 1 --service 200ms
start_sidecar --limit 1

it "what is left of the deadline comes to the service, less the margin, and which attempt it is"
ask /echo 20000
equal "how it went" "200 success 1 none" "$how"
equal "attempt" 1 "$(header x-envoy-attempt-count)"
left=$(header x-envoy-expected-rq-timeout-ms)
figure "$left ms are left of 20000"
at_most "what is left" 19995 "$left"
at_least "what is left" 1 "$left"

it "a gate without room is a refusal, whose Retry-After lies past the deadline: one attempt"
begin "/sleep?ms=3000"
wait_until "it runs" gate_is .in_flight 1
ask / 900
equal "how it went" "503 refused 1 deadline_unmeetable" "$how"

it "with time for it, it is tried again when told, and answered"
ask / 60000
matches "how it went" "^200 success [23] none$" "$how"

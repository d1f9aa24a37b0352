#!/usr/bin/env bash
# 300 requests at the same instant against limit 64 and queue 128.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/sidecar.sh
. "$(dirname "$0")/sidecar.sh"

start_service --workers 64 --service 500ms
start_sidecar --limit 64 --queue 128 --wait 10s

it "192 are served and 108 refused, at once"
burst "http://127.0.0.1:$port/" -n 300
equal "served" 192 "$(burst_count 200 0 100)"
equal "refused before the first is done" 108 "$(burst_count 503 0 4)"

it "the service saw what was admitted, never more than 64 at a time"
equal "received" 192 "$(service_count received)"
equal "most at a time" 64 "$(service_count max_outstanding)"

it "the gate counted the same"
equal "admitted" 192 "$(gate '.classes | map(.admitted) | add')"
equal "rejected for a full queue" 108 "$(gate '.classes | map(.rejected.queue_full // 0) | add')"
equal "in flight" 0 "$(gate .in_flight)"

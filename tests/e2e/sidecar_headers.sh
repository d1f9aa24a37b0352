#!/usr/bin/env bash
# What the service sees of a request's deadline. /echo of the demo service tells what reached it.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/sidecar.sh
. "$(dirname "$0")/sidecar.sh"

# passed PATH OPTION...: the values of X-Deadline-Ms at the service, with blanks between them.
passed() {
  get "$1" "${@:2}" |
    jq -r '[.headers[] | select(.[0] | ascii_downcase == "x-deadline-ms") | .[1]] | join(" ")'
}

start_service --workers 4
start_sidecar --limit 5 --deadline-header X-Deadline-Ms --exempt /echo

it "outside the gate a deadline passes as it came"
equal "a number" 5000 "$(passed /echo -H 'X-Deadline-Ms: 5000')"
equal "something else" "soon, please" "$(passed /echo -H 'x-deadline-ms: soon, please')"
equal "none" "" "$(passed /echo)"

it "inside, what cannot be read passes as it came"
stop "$sidecar"
start_sidecar --limit 5 --deadline-header X-Deadline-Ms
equal "something else" soon "$(passed /echo -H 'X-Deadline-Ms: soon')"
equal "none" "" "$(passed /echo)"

it "inside, what is believed passes as what is left"
left=$(passed /echo -H 'X-Deadline-Ms: 5000')
at_most "milliseconds" 5000 "$left"
at_least "milliseconds" 1 "$left"
stop "$sidecar"

it "a time of the sidecar's own is told even to who asked for none"
start_sidecar --limit 5 --deadline-header X-Deadline-Ms --deadline 2s
left=$(passed /echo -H 'X-Deadline-Ms: soon')
at_most "milliseconds" 2000 "$left"
at_least "milliseconds" 1 "$left"

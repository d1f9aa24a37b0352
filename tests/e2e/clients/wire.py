"""What the clients share."""

import json
import math
import resource
import select
import signal
import sys
from typing import Any, Sequence


def raise_file_limit() -> None:
    """As many open files as the system lets us have: some clients are thousands of connections."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def say(text: str) -> None:
    print(text, flush=True)


def report(result: dict[str, Any]) -> None:
    say(json.dumps(result))


def percentile(values: Sequence[float], share: float) -> float | None:
    """The least value that at least this share of all do not exceed."""
    if not values:
        return None
    return sorted(values)[max(math.ceil(share * len(values)) - 1, 0)]


def have_left(descriptors: Sequence[int]) -> set[int]:
    """Those of these sockets whose peer has closed its side, as the system knows it now."""
    poll = select.poll()
    for fd in descriptors:
        poll.register(fd, select.POLLRDHUP)
    return {fd for fd, event in poll.poll(0) if event != 0}


def status_of(head: bytes) -> int:
    """The status of an HTTP/1 answer; 0 where it is none."""
    words = head.split(b" ", 2)
    return int(words[1]) if len(words) > 1 and words[1].isdigit() else 0


def end_quietly_on_signals() -> None:
    """A test ends its clients by SIGTERM; that is no failure and needs no traceback."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: sys.exit(0))

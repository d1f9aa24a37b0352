#!/usr/bin/env python3
"""Many callers who run or wait at a gate, and then all leave in the same moment, in no order.

To leave takes a thousand callers some 40 ms, in which those who have not left yet may rightly start. So the workers
given with --stop are stopped meanwhile, and find all of them gone at once. Prints how long after that
nobody waited any more, by the gate's own word.
"""

import argparse
import json
import os
import random
import signal
import socket
import struct
import time

from wire import raise_file_limit, report


def begin(port: int, path: str) -> socket.socket:
    sock = socket.create_connection(("127.0.0.1", port))
    sock.sendall(f"GET {path} HTTP/1.1\r\nHost: a\r\n\r\n".encode())
    return sock


class Status:
    """The gate's state, on one connection: what is measured must not include connecting."""

    def __init__(self, port: int) -> None:
        self.sock = socket.create_connection(("127.0.0.1", port))
        self.file = self.sock.makefile("rb")

    def read(self) -> dict[str, int]:
        self.sock.sendall(b"GET /status HTTP/1.1\r\nHost: a\r\n\r\n")
        length = 0
        while (line := self.file.readline()) not in (b"\r\n", b""):
            name, _, value = line.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length
        state: dict[str, int] = json.loads(self.file.read(length))["gates"][0]
        return state

    def until(self, name: str, value: int) -> float:
        begun = time.monotonic()
        while self.read()[name] != value:
            if time.monotonic() - begun > 10:
                raise SystemExit(f"waited in vain for {name} = {value}")
        return time.monotonic()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("port", type=int)
    parser.add_argument("--path", default="/?ms=15000")
    parser.add_argument("--running", type=int, default=10)
    parser.add_argument("--waiting", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--fin", action="store_true", help="close in the usual way instead of with a reset")
    parser.add_argument("--stop", type=int, nargs="*", default=[], help="pids of workers")
    options = parser.parse_args()
    raise_file_limit()
    status = Status(options.port)
    callers = [begin(options.port, options.path) for _ in range(options.running)]
    status.until("in_flight", options.running)
    callers += [begin(options.port, options.path) for _ in range(options.waiting)]
    status.until("waiting", options.waiting)
    random.Random(options.seed).shuffle(callers)
    for pid in options.stop:
        os.kill(pid, signal.SIGSTOP)
    for sock in callers:
        if not options.fin:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        sock.close()
    left = time.monotonic()
    for pid in options.stop:
        os.kill(pid, signal.SIGCONT)
    nobody_waits = status.until("waiting", 0)
    nothing_runs = status.until("in_flight", 0)
    report(
        {
            "nobody_waits_after_ms": (nobody_waits - left) * 1000,
            "nothing_runs_after_ms": (nothing_runs - left) * 1000,
        }
    )


if __name__ == "__main__":
    main()

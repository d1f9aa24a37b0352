#!/usr/bin/env python3
"""Thousands wait at a gate while something stands still for longer than they may wait.

`--waiting` callers with a deadline wait behind `--running` ones; then the processes given with --stop stand still for
`--seconds`. When they go on, one more caller asks at once, who is not late. Prints what became of all.
"""

import argparse
import asyncio
import json
import os
import signal
import time
from collections import Counter

from wire import raise_file_limit, report, status_of

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def answer(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    head = await reader.readuntil(b"\r\n\r\n")
    length = 0
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    return status_of(head), await reader.readexactly(length)


def send(streams: Streams, path: str, field: str = "") -> None:
    streams[1].write(f"GET {path} HTTP/1.1\r\nHost: a\r\n{field}\r\n".encode())


async def ask(port: int, path: str, field: str) -> int:
    streams = await asyncio.open_connection("127.0.0.1", port)
    send(streams, path, field)
    status, _ = await answer(streams[0])
    streams[1].close()
    return status


async def state_until(port: int, name: str, value: int) -> float:
    streams = await asyncio.open_connection("127.0.0.1", port)
    end = time.monotonic() + 10
    while time.monotonic() < end:
        send(streams, "/status")
        _, body = await answer(streams[0])
        if json.loads(body)["gates"][0][name] == value:
            streams[1].close()
            return time.monotonic()
        await asyncio.sleep(0.001)
    raise SystemExit(f"waited in vain for {name} = {value}")


async def run(options: argparse.Namespace) -> None:
    running = [asyncio.create_task(ask(options.port, f"/?ms={options.ms}", "")) for _ in range(options.running)]
    await state_until(options.port, "in_flight", options.running)
    deadline = f"X-Envoy-Expected-Rq-Timeout-Ms: {options.deadline}\r\n"
    waiting = []
    for _ in range(0, options.waiting, 100):
        by = time.monotonic() + options.deadline / 1000
        waiting += [asyncio.create_task(ask(options.port, f"/?ms=1&by={by}", deadline)) for _ in range(100)]
        await asyncio.sleep(0)
    await state_until(options.port, "waiting", options.waiting)
    fresh = await asyncio.open_connection("127.0.0.1", options.port)
    for pid in options.stop:
        os.kill(pid, signal.SIGSTOP)
    await asyncio.sleep(options.seconds)
    for pid in options.stop:
        os.kill(pid, signal.SIGCONT)
    resumed = time.monotonic()
    send(fresh, "/?ms=1&fresh")
    status, _ = await answer(fresh[0])
    served = time.monotonic()
    nobody = await state_until(options.port, "waiting", 0)
    statuses = Counter(await asyncio.gather(*waiting))
    await asyncio.gather(*running)
    report(
        {
            "fresh_status": status,
            "fresh_after_ms": (served - resumed) * 1000,
            "nobody_waits_after_ms": (nobody - resumed) * 1000,
        }
        | {f"waiting_{status}": count for status, count in statuses.items()}
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("port", type=int)
    parser.add_argument("--running", type=int, default=10)
    parser.add_argument("--waiting", type=int, default=5000)
    parser.add_argument("--deadline", type=int, default=8000, help="of those who wait, ms")
    parser.add_argument("--ms", type=int, default=100, help="how long the running take")
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--stop", type=int, nargs="+", required=True, help="pids")
    options = parser.parse_args()
    raise_file_limit()
    asyncio.run(run(options))


if __name__ == "__main__":
    main()

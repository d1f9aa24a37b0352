#!/usr/bin/env python3
"""WebSockets that are opened and then say nothing. Prints how many are open, and ends by a signal."""

import argparse
import asyncio
from collections import Counter

from wire import end_quietly_on_signals, raise_file_limit, report, status_of

UPGRADE = (
    "Host: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
)


async def open_one(port: int, path: str) -> tuple[int, asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET {path} HTTP/1.1\r\n{UPGRADE}".encode())
    return status_of(await reader.readuntil(b"\r\n\r\n")), reader, writer


async def run(options: argparse.Namespace) -> None:
    sockets = []
    for begun in range(0, options.count, options.at_once):
        batch = min(options.at_once, options.count - begun)
        sockets += await asyncio.gather(*(open_one(options.port, options.path) for _ in range(batch)))
    counts = Counter(f"status_{status}" for status, _, _ in sockets)
    report({"asked": len(sockets)} | dict(counts))
    ends = [asyncio.create_task(reader.read(1)) for status, reader, _ in sockets if status == 101]
    if not ends:
        return
    await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
    report({"ended": sum(end.done() for end in ends)})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("port", type=int)
    parser.add_argument("--path", default="/ws")
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--at-once", type=int, default=50)
    options = parser.parse_args()
    end_quietly_on_signals()
    raise_file_limit()
    asyncio.run(run(options))


if __name__ == "__main__":
    main()

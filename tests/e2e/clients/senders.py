#!/usr/bin/env python3
"""Many connections, each with a POST whose body comes slowly, or not at all.

Prints a line of JSON each time the numbers have changed: how many have sent their header, how many bytes
were sent in all, how many were answered with what, how many were closed, and after how many seconds the
last of them was. Ends when all
connections have, or by a signal.
"""

import argparse
import asyncio
import time
from collections import Counter

from wire import end_quietly_on_signals, raise_file_limit, report, status_of


class Senders:
    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.counts: Counter[str] = Counter(begun=0, sent=0, answered=0, closed=0)
        self.begun_at = time.monotonic()
        self.closed_after = 0.0

    async def one(self) -> None:
        options = self.options
        reader, writer = await asyncio.open_connection("127.0.0.1", options.port)
        writer.write(f"POST {options.path} HTTP/1.1\r\nHost: a\r\nContent-Length: {options.length}\r\n\r\n".encode())
        await writer.drain()
        self.counts["begun"] += 1
        sending = asyncio.create_task(self.trickle(writer))
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            self.counts["answered"] += 1
            self.counts[f"status_{status_of(head)}"] += 1
            while await reader.read(4096):
                pass
        except (OSError, asyncio.IncompleteReadError):
            pass
        self.counts["closed"] += 1
        self.closed_after = time.monotonic() - self.begun_at
        sending.cancel()
        writer.close()

    async def trickle(self, writer: asyncio.StreamWriter) -> None:
        try:
            while self.options.interval > 0:
                writer.write(b"x")
                await writer.drain()
                self.counts["sent"] += 1
                await asyncio.sleep(self.options.interval)
        except OSError:
            pass

    async def say(self) -> None:
        said: dict[str, int] = {}
        while True:
            if said != self.counts:
                said = dict(self.counts)
                report(said | {"closed_after": self.closed_after})
            await asyncio.sleep(0.05)

    async def run(self) -> None:
        saying = asyncio.create_task(self.say())
        await asyncio.gather(*(self.one() for _ in range(self.options.count)))
        saying.cancel()
        report(dict(self.counts) | {"closed_after": self.closed_after})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("port", type=int)
    parser.add_argument("--path", default="/")
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--length", type=int, default=100_000)
    parser.add_argument("--interval", type=float, default=1, help="seconds from byte to byte; 0: none is sent")
    options = parser.parse_args()
    end_quietly_on_signals()
    raise_file_limit()
    asyncio.run(Senders(options).run())


if __name__ == "__main__":
    main()

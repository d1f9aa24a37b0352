#!/usr/bin/env python3
"""Asks some paths, each at an interval and each time on a new connection, as a liveness probe does.

Prints for each path how often it was asked, how often it was answered with 200, and how long that took.
"""

import argparse
import asyncio
import time

from wire import percentile, report, status_of


class Path:
    def __init__(self) -> None:
        self.asked = 0
        self.good = 0
        self.times: list[float] = []


async def ask_once(port: int, name: str, path: Path, patience: float) -> None:
    path.asked += 1
    begun = time.monotonic()
    try:
        async with asyncio.timeout(patience):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(f"GET {name} HTTP/1.1\r\nHost: probe\r\nConnection: close\r\n\r\n".encode())
            answer = await reader.read()
            writer.close()
    except (OSError, TimeoutError):
        return
    path.times.append((time.monotonic() - begun) * 1000)
    path.good += status_of(answer) == 200


async def ask(port: int, name: str, path: Path, interval: float, seconds: float, patience: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        await ask_once(port, name, path, patience)
        await asyncio.sleep(interval)


async def probe(options: argparse.Namespace) -> None:
    paths = {name: Path() for name in options.paths}
    await asyncio.gather(
        *(ask(options.port, name, path, options.interval, options.seconds, options.patience) for name, path in paths.items())
    )
    report(
        {
            name: {
                "asked": path.asked,
                "good": path.good,
                "p50_ms": percentile(path.times, 0.5),
                "p99_ms": percentile(path.times, 0.99),
                "max_ms": max(path.times, default=None),
            }
            for name, path in paths.items()
        }
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("port", type=int)
    parser.add_argument("paths", nargs="+")
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--interval", type=float, default=0.02)
    parser.add_argument("--patience", type=float, default=1)
    asyncio.run(probe(parser.parse_args()))


if __name__ == "__main__":
    main()

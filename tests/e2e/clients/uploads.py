#!/usr/bin/env python3
"""Uploads that are refused on the way: what does the caller see, and what becomes of its connection?

Each upload is one connection, on which the whole body is sent, whatever comes back, and the answer is
read meanwhile. Then the connection is used once more, unless it was closed.

    seen     uploads whose status was the one expected
    usable   connections that answered once more
    closed   connections that ended with an end of file
    broken   connections that ended in any other way, though the status had been seen
"""

import argparse
import asyncio
from collections import Counter

from wire import raise_file_limit, report, status_of

PIECE = b"x" * 65536


async def send_body(writer: asyncio.StreamWriter, size: int) -> None:
    for start in range(0, size, len(PIECE)):
        writer.write(PIECE[: size - start])
        await writer.drain()


async def read_answer(reader: asyncio.StreamReader) -> int:
    head = await reader.readuntil(b"\r\n\r\n")
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            await reader.readexactly(int(value))
    return status_of(head)


async def upload(options: argparse.Namespace, outcomes: Counter[str]) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", options.port, limit=2**20)
    writer.write(f"POST {options.path} HTTP/1.1\r\nHost: a\r\nContent-Length: {options.bytes}\r\n\r\n".encode())
    sending = asyncio.create_task(send_body(writer, options.bytes))
    try:
        async with asyncio.timeout(options.patience):
            status = await read_answer(reader)
            outcomes["seen" if status == options.expect else f"status {status}"] += 1
            await outcome_of_connection(options, reader, writer, sending, outcomes)
    except (OSError, asyncio.IncompleteReadError, TimeoutError) as error:
        outcomes[f"nothing seen: {type(error).__name__}"] += 1
    finally:
        sending.cancel()
        writer.close()


async def outcome_of_connection(
    options: argparse.Namespace,
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    sending: asyncio.Task[None],
    outcomes: Counter[str],
) -> None:
    try:
        await sending
        writer.write(b"GET /status HTTP/1.1\r\nHost: a\r\n\r\n")
        await read_answer(reader)
        outcomes["usable"] += 1
    except asyncio.IncompleteReadError as error:
        outcomes["closed" if error.partial == b"" else "broken"] += 1
    except (OSError, TimeoutError):
        outcomes["broken"] += 1


async def run(options: argparse.Namespace) -> None:
    outcomes: Counter[str] = Counter()
    for begun in range(0, options.count, options.at_once):
        batch = min(options.at_once, options.count - begun)
        await asyncio.gather(*(upload(options, outcomes) for _ in range(batch)))
    report({"seen": 0, "usable": 0, "closed": 0, "broken": 0} | dict(outcomes))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("port", type=int)
    parser.add_argument("--path", default="/")
    parser.add_argument("--bytes", type=int, default=10_000_000)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--at-once", type=int, default=8)
    parser.add_argument("--expect", type=int, default=503)
    parser.add_argument("--patience", type=float, default=30)
    options = parser.parse_args()
    raise_file_limit()
    asyncio.run(run(options))


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""A service that counts, for a test of a limit, the callers that it serves at the same time.

`loadline serve` goes on working for callers who have left, as services do, and counts them. What a gate
promises is about callers who are there: nginx closes its connection and gives the slot back. So this one
looks, before it believes in a new maximum, which callers have left: the kernel may have told it
in another order than the one in which things happened.

    /?ms=N          answers after N milliseconds (0 without)
    /?bytes=N       with a body of N bytes
    ?by=T           is counted as late when it comes after T, in seconds of this machine's monotonic clock
    ?as=NAME        is counted under this name instead of "main"
    /ws             an upgrade: 101, and then nothing
    /stats          what was counted, as JSON; /reset (POST) begins anew
    /take           the same as JSON, and the maxima begin anew in the same moment
"""

import argparse
import asyncio
import json
import time
from urllib.parse import parse_qs, urlsplit

from wire import end_quietly_on_signals, have_left, raise_file_limit, say


class Counts:
    def __init__(self) -> None:
        self.callers: dict[str, set["Caller"]] = {}
        self.connections = 0
        self.reset()

    def reset(self) -> None:
        self.most: dict[str, int] = {}
        self.received = 0
        self.posts = 0
        self.body_bytes = 0
        self.answered = 0
        self.late = 0

    def begin(self, caller: "Caller", name: str) -> None:
        here = self.callers.setdefault(name, set())
        here.add(caller)
        if len(here) > self.most.get(name, 0):
            gone = have_left([each.descriptor for each in here])
            for each in [each for each in here if each.descriptor in gone]:
                here.discard(each)
            self.most[name] = max(self.most.get(name, 0), len(here))

    def end(self, caller: "Caller", name: str) -> None:
        self.callers.get(name, set()).discard(caller)

    def as_json(self) -> bytes:
        return json.dumps(
            {
                "received": self.received,
                "answered": self.answered,
                "late": self.late,
                "posts": self.posts,
                "body_bytes": self.body_bytes,
                "connections": self.connections,
                "now": len(self.callers.get("main", set())),
                "most": self.most.get("main", 0),
                "most_as": self.most,
            }
        ).encode()


class Caller(asyncio.Protocol):
    def __init__(self, counts: Counts) -> None:
        self.counts = counts
        self.unread = b""
        self.to_skip = 0  # bytes of a body that are still to come
        self.name = ""  # under which it is counted now
        self.timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.descriptor: int = transport.get_extra_info("socket").fileno()
        self.counts.connections += 1

    def connection_lost(self, _: Exception | None) -> None:
        self.counts.connections -= 1
        self.counts.end(self, self.name)
        if self.timer is not None:
            self.timer.cancel()

    def data_received(self, data: bytes) -> None:
        self.unread += data
        self.read()

    def read(self) -> None:
        while True:
            skipped = min(self.to_skip, len(self.unread))
            self.unread, self.to_skip = self.unread[skipped:], self.to_skip - skipped
            self.counts.body_bytes += skipped
            head, end, rest = self.unread.partition(b"\r\n\r\n")
            if self.to_skip > 0 or not end:
                return
            self.unread = rest
            self.handle(head)

    def handle(self, head: bytes) -> None:
        lines = head.decode("latin-1").split("\r\n")
        method, target, version = lines[0].split(" ", 2)
        fields = {k.strip().lower(): v.strip() for k, _, v in (line.partition(":") for line in lines[1:])}
        self.to_skip = int(fields.get("content-length", "0"))
        self.keep = version == "HTTP/1.1" and fields.get("connection", "").lower() != "close"
        url = urlsplit(target)
        query = parse_qs(url.query)
        if url.path == "/stats":
            return self.answer(self.counts.as_json())
        if url.path == "/take":
            self.answer(self.counts.as_json())
            self.counts.most = {}
            return None
        if url.path == "/reset" and method == "POST":
            self.counts.reset()
            return self.answer(b"reset\n")
        self.counts.received += 1
        self.counts.posts += method == "POST"
        if url.path == "/ws":
            self.transport.write(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
            return None
        self.counts.late += time.monotonic() > float(query.get("by", ["inf"])[0])
        self.name = query.get("as", ["main"])[0]
        self.counts.begin(self, self.name)
        body = b"x" * int(query.get("bytes", ["5"])[0])
        wait = int(query.get("ms", ["0"])[0]) / 1000
        self.timer = asyncio.get_running_loop().call_later(wait, self.done, body)
        return None

    def done(self, body: bytes) -> None:
        # No longer counted before the answer leaves: who has it may send the next request at once.
        self.counts.end(self, self.name)
        self.counts.answered += 1
        self.answer(body)

    def answer(self, body: bytes) -> None:
        kind = "" if self.keep else "Connection: close\r\n"
        self.transport.write(f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n{kind}\r\n".encode() + body)
        if not self.keep:
            self.transport.close()


async def serve(port: int) -> None:
    counts = Counts()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Caller(counts), "127.0.0.1", port, backlog=4096)
    say(f"listening: 127.0.0.1:{server.sockets[0].getsockname()[1]}")
    await server.serve_forever()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    options = parser.parse_args()
    end_quietly_on_signals()
    raise_file_limit()
    asyncio.run(serve(options.port))


if __name__ == "__main__":
    main()

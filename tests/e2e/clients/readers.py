#!/usr/bin/env python3
"""Many callers that ask for something and do not read the answer. Prints how many, and ends by a signal."""

import argparse
import socket
import threading

from wire import end_quietly_on_signals, raise_file_limit, report


def ask(port: int, path: str) -> socket.socket:
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)  # so that little of it lies in the kernel
    sock.connect(("127.0.0.1", port))
    sock.sendall(f"GET {path} HTTP/1.1\r\nHost: a\r\n\r\n".encode())
    return sock


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("port", type=int)
    parser.add_argument("--path", default="/")
    parser.add_argument("--count", type=int, default=10)
    options = parser.parse_args()
    end_quietly_on_signals()
    raise_file_limit()
    sockets = [ask(options.port, options.path) for _ in range(options.count)]
    report({"asked": len(sockets)})
    threading.Event().wait()


if __name__ == "__main__":
    main()

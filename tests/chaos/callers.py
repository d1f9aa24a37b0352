"""Who asks: a load that behaves, and callers that do not."""

import random
import socket
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

CLIENTS = Path(__file__).parent.parent / "e2e" / "clients"


class Callers:
    def __init__(self, work: Path, command: str, port: int, port_h2: int, seed: int) -> None:
        self.work, self.command, self.port, self.port_h2 = work, command, port, port_h2
        self.random = random.Random(seed)
        self.processes: list[subprocess.Popen[bytes]] = []
        self.ends = threading.Event()
        self.threads: list[threading.Thread] = []

    def run(self, *words: object) -> None:
        with (self.work / "callers.log").open("ab") as log:
            self.processes.append(
                subprocess.Popen([str(word) for word in words], stdout=log, stderr=log, start_new_session=True)
            )

    def client(self, script: str, *words: object) -> None:
        self.run(sys.executable, CLIENTS / script, *words)

    def load(self, target: str, rate: int, *words: object) -> None:
        seed = self.random.randrange(2**31)
        self.run(
            self.command, "load", f"http://127.0.0.1:{self.port}{target}", "--rate", rate, "--duration", "1h",
            "--seed", seed, "--allow-starved", *words,
        )  # fmt: skip

    def begin(self) -> None:
        self.ends.clear()
        classes = ["--class", "critical_plus=1,critical=4,sheddable_plus=2,sheddable=3"]
        self.load("/?ms=25&t=a", 200, "--timeout", "400ms", *classes)
        self.load("/?ms=25&t=b&g=free", 80, "--timeout", "60ms")  # impatient: leaves while it waits
        self.load("/late?ms=30&t=c", 60, "--timeout", "2s", "--method", "POST", "--body", "20000")
        self.load("/two?ms=20&t=d", 60, "--timeout", "1s", "--burst", "20@2s")
        self.load("/quota?ms=10&t=e", 40, "--timeout", "1s", "--deadline", "80ms", "--deadline-header", "X-Envoy-Expected-Rq-Timeout-Ms")
        self.load("/?ms=60&t=f&w=3", 15, "--timeout", "1s")
        self.load("/exempt?ms=20&as=exempt", 30, "--timeout", "1s")
        self.load("/leased?ms=400&as=leased", 5, "--timeout", "2s")
        self.load("/poll?ms=500&as=polled", 5, "--timeout", "2s")
        self.client("senders.py", self.port, "--count", 20, "--interval", 0.2)
        self.client("senders.py", self.port, "--path", "/streamed", "--count", 2, "--interval", 0.2)
        self.client("readers.py", self.port, "--count", 10, "--path", "/?bytes=400000")
        self.client("websockets.py", self.port, "--count", 10)
        self.threads = [threading.Thread(target=self.misbehave, args=(self.random.randrange(2**31),)) for _ in range(3)]
        for thread in self.threads:
            thread.start()

    def reset_streams(self) -> None:
        """HTTP/2, many streams on one connection, each reset while it runs or waits."""
        self.client("h2_resets.py", self.port_h2, "--path", "/?ms=40", "--count", 400, "--running")

    def misbehave(self, seed: int) -> None:
        chance = random.Random(seed)
        while not self.ends.wait(chance.uniform(0, 0.03)):
            try:
                with socket.create_connection(("127.0.0.1", self.port), timeout=2) as sock:
                    self.be_rude(sock, chance)
            except OSError:
                pass

    def be_rude(self, sock: socket.socket, chance: random.Random) -> None:
        get = f"GET /?ms={chance.randrange(60)} HTTP/1.1\r\nHost: a\r\n\r\n".encode()
        match chance.randrange(6):
            case 0:  # half a request, and gone
                sock.sendall(get[: chance.randrange(1, len(get))])
            case 1:  # a request, and its sending side closed
                sock.sendall(get)
                sock.shutdown(socket.SHUT_WR)
                sock.settimeout(0.5)
                sock.recv(4096)
            case 2:  # a request, and reset after some time
                sock.sendall(get)
                time.sleep(chance.uniform(0, 0.15))
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            case 3:  # several at once, and gone
                sock.sendall(get * chance.randrange(2, 8))
                time.sleep(chance.uniform(0, 0.1))
            case 4:  # half a body, and gone
                sock.sendall(b"POST /streamed?ms=20 HTTP/1.1\r\nHost: a\r\nContent-Length: 50000\r\n\r\n" + b"x" * 10000)
                time.sleep(chance.uniform(0, 0.1))
            case 5:  # a chunked body that is none
                sock.sendall(b"POST /?ms=20 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n")
                sock.settimeout(0.5)
                sock.recv(4096)

    def end(self) -> None:
        self.ends.set()
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        for thread in self.threads:
            thread.join()
        self.processes, self.threads = [], []

"""The nginx under test: its configuration, its workers, and what its gate says."""

import json
import os
import re
import signal
import socket
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from events import Events, Wrong, until

CONF = """
load_module {module};
{user}
worker_processes {workers};
worker_rlimit_nofile 16384;
error_log {work}/error.log notice;
pid {work}/nginx.pid;
worker_shutdown_timeout 20s;
events {{ worker_connections 4096; }}
http {{
  log_format chaos '$loadline_gate $loadline_status $loadline_reason $pid $status $request_uri';
  access_log {work}/chaos.log chaos;
  client_body_temp_path {work}/body;
  proxy_temp_path {work}/proxy;
  fastcgi_temp_path {work}/fastcgi;
  uwsgi_temp_path {work}/uwsgi;
  scgi_temp_path {work}/scgi;
  loadline_gate two:1m limit=6 queue=10 wait=100ms;
  loadline_gate api:{size} limit={limit} queue={queue} wait=200ms tenants=1000 groups=free:5 quota=200r/s quota_burst=50
    guarantee=sheddable:5% heavy=50% exempt=4 streams=40;
  keepalive_requests 1000000;
  proxy_http_version 1.1;
  proxy_read_timeout 5s;
  upstream service {{ server 127.0.0.1:{service} max_fails=0; keepalive 16; }}
  server {{
    listen 127.0.0.1:{port} backlog=4096;
    listen 127.0.0.1:{port_h2} http2 backlog=4096;
    http2_max_concurrent_streams 1000;
    client_max_body_size 100m;
    loadline api tenant=$arg_t group=$arg_g weight=$arg_w;
    proxy_set_header Connection "";
    location / {{ proxy_pass http://service; }}
    location /streamed {{ loadline_read_body off; proxy_request_buffering off; proxy_pass http://service; }}
    location /quota {{ loadline api quota=$arg_t; proxy_pass http://service; }}
    location /late {{ loadline_phase precontent; proxy_pass http://service; }}
    location /exempt {{ loadline_exempt 1; proxy_pass http://service; }}
    location /leased {{ loadline_lease 200ms; proxy_pass http://service; }}
    location /poll {{ loadline_stream_after 100ms; proxy_pass http://service; }}
    location /two {{ loadline two; loadline api; proxy_pass http://service; }}
    location /ws {{
      proxy_set_header Upgrade $http_upgrade;
      proxy_set_header Connection upgrade;
      proxy_pass http://service;
    }}
    location = /status {{ access_log off; add_header X-Worker $pid; loadline_stub_status; }}
    location = /control {{ access_log off; loadline_control; }}
  }}
}}
"""


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
        return port


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@dataclass
class Counts:
    """What a gate has decided, over all its classes."""

    admitted: int = 0
    rejected: int = 0
    cancelled: int = 0

    @property
    def all(self) -> int:
        return self.admitted + self.rejected + self.cancelled

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(self.admitted + other.admitted, self.rejected + other.rejected, self.cancelled + other.cancelled)

    def __sub__(self, other: "Counts") -> "Counts":
        return Counts(self.admitted - other.admitted, self.rejected - other.rejected, self.cancelled - other.cancelled)


def counts_of(gate: dict[str, Any]) -> Counts:
    return Counts(
        sum(c["admitted"] for c in gate["classes"]),
        sum(sum(c["rejected"].values()) for c in gate["classes"]),
        sum(c["cancelled"] for c in gate["classes"]),
    )


class Asking:
    """A connection on which a worker is asked for its gates' state.

    `begin` sends half of a request: a worker that is told to exit then waits for the rest of it. That is how
    the last word of a gate is had that only the workers of an earlier generation know.
    """

    def __init__(self, port: int) -> None:
        self.sock = socket.create_connection(("127.0.0.1", port), timeout=10)
        self.file = self.sock.makefile("rb")
        self.worker = 0

    def begin(self) -> None:
        self.sock.sendall(b"GET /status HTTP/1.1\r\nHo")

    def finish(self) -> dict[str, Any]:
        self.sock.sendall(b"st: a\r\n\r\n")
        length = 0
        while (line := self.file.readline()) != b"\r\n":
            if not line:
                raise ConnectionError("closed")
            name, _, value = line.decode().partition(":")
            if name.lower() == "content-length":
                length = int(value)
            if name.lower() == "x-worker":
                self.worker = int(value)
        gates: list[dict[str, Any]] = json.loads(self.file.read(length))["gates"]
        return next(gate for gate in gates if gate["name"] == "api")

    def ask(self) -> dict[str, Any]:
        self.begin()
        return self.finish()

    def close(self) -> None:
        self.file.close()
        self.sock.close()


@dataclass
class Earlier:
    """A gate that the file no longer defines, and its workers, which finish."""

    workers: set[int]
    limit: int
    base: Counts
    asking: list[Asking] = field(default_factory=list)

    @property
    def runs(self) -> bool:
        return any(is_running(pid) for pid in self.workers)


class Proxy:
    def __init__(self, work: Path, nginx: str, module: str, service: int, workers: int, events: Events) -> None:
        self.work, self.nginx, self.module, self.events = work, nginx, module, events
        self.service, self.workers = service, workers
        self.port, self.port_h2 = free_port(), free_port()
        self.size, self.limit, self.queue = "1m", 10, "30"
        self.killed: dict[int, int] = {}  # pid: how many requests it may have had
        self.earlier: list[Earlier] = []
        self.base = Counts()
        self.master: subprocess.Popen[bytes] | None = None

    # ---- Its process ------------------------------------------------------------------------------

    def write_conf(self) -> None:
        text = CONF.format(
            module=self.module, user="user root;" if os.getuid() == 0 else "", workers=self.workers, work=self.work,
            size=self.size, limit=self.limit, queue=self.queue, service=self.service, port=self.port,
            port_h2=self.port_h2,
        )  # fmt: skip
        (self.work / "nginx.conf").write_text(text)

    def start(self) -> None:
        self.write_conf()
        arguments = ["-p", self.work, "-e", self.work / "error.log", "-c", self.work / "nginx.conf", "-g", "daemon off;"]
        with (self.work / "nginx.out").open("wb") as out:
            self.master = subprocess.Popen([self.nginx, *arguments], stdout=out, stderr=out, start_new_session=True)
        until("nginx answers", self.answers)
        until("all workers have a seat", lambda: self.state()["workers"] == self.workers)

    def stop(self) -> None:
        if self.master is not None:
            for pid in self.children():
                os.kill(pid, signal.SIGCONT)
            self.master.terminate()
            try:
                self.master.wait(10)
            except subprocess.TimeoutExpired:
                for pid in [*self.children(), self.master.pid]:
                    os.kill(pid, signal.SIGKILL)
                self.master.wait()

    def answers(self) -> bool:
        assert self.master is not None
        if self.master.poll() is not None:
            raise Wrong(f"nginx does not start: {(self.work / 'error.log').read_text()[-500:]}")
        try:
            self.state()
            return True
        except (OSError, ValueError):
            return False

    def children(self) -> set[int]:
        assert self.master is not None
        try:
            text = Path(f"/proc/{self.master.pid}/task/{self.master.pid}/children").read_text()
        except OSError:
            return set()  # the master has ended
        return {int(pid) for pid in text.split() if is_running(int(pid))}

    def current_workers(self) -> set[int]:
        """Those that take connections: their title does not say that they are shutting down."""

        def serves(pid: int) -> bool:
            try:
                return b"shutting down" not in Path(f"/proc/{pid}/cmdline").read_bytes()
            except OSError:
                return False

        return {pid for pid in self.children() if serves(pid)}

    # ---- Its gate ---------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        asking = Asking(self.port)
        try:
            return asking.ask()
        finally:
            asking.close()

    def patient_state(self) -> dict[str, Any]:
        """As `state`, also while a worker is being stopped or killed."""
        for _ in range(20):
            try:
                return self.state()
            except (OSError, ValueError):
                time.sleep(0.05)
        raise Wrong("the status cannot be had")

    def control(self, change: str) -> None:
        for _ in range(20):
            try:
                with socket.create_connection(("127.0.0.1", self.port), timeout=10) as sock:
                    request = f"POST /control?gate=api&{change} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
                    sock.sendall(request.encode())
                    if b" 200 " in sock.makefile("rb").readline():
                        return
            except OSError:
                pass
            time.sleep(0.05)
        raise Wrong(f"{change} was not taken")

    # ---- What is done to it -----------------------------------------------------------------------

    def reload(self) -> None:
        """With the present values. Returns when only workers that know them take connections."""
        before = self.current_workers()
        self.write_conf()
        assert self.master is not None
        self.master.send_signal(signal.SIGHUP)
        until("new workers serve", lambda: len(self.current_workers() - before) >= self.workers, 20)
        until("the old ones know it", lambda: not (self.current_workers() & before), 20)

    def resize(self, most_in_flight: int) -> None:
        """Another zone, and so another gate. The earlier one lives on in its workers."""
        earlier = Earlier(self.current_workers(), most_in_flight, self.base)
        for _ in range(30):
            if len(earlier.asking) >= 6 and len({each.worker for each in earlier.asking}) == len(earlier.workers):
                break
            asking = Asking(self.port)
            asking.ask()
            asking.begin()
            earlier.asking.append(asking)
        time.sleep(0.05)  # until the halves have been read; nothing shows that they were
        self.earlier.append(earlier)
        self.base = Counts()
        self.size = "2m" if self.size == "1m" else "1m"
        self.reload()

    def kill(self, pid: int) -> int:
        """kill -9. First it is stopped, wherever it is, so that what it holds can be counted."""
        try:
            os.kill(pid, signal.SIGSTOP)
        except ProcessLookupError:
            return 0  # an earlier worker that has just finished
        until(f"{pid} has stopped", lambda: not is_running(pid) or self.has_stopped(pid), 5, 0.0005)
        connections = self.connections_of(pid, self.port)
        # A connection of HTTP/2 may have as many requests as streams.
        held = connections + 1000 * self.connections_of(pid, self.port_h2)
        self.killed[pid] = held
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        return connections

    @staticmethod
    def has_stopped(pid: int) -> bool:
        try:
            return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"
        except OSError:
            return True

    @staticmethod
    def connections_of(pid: int, port: int) -> int:
        sockets = set()
        for entry in Path(f"/proc/{pid}/fd").glob("*"):
            try:
                target = os.readlink(entry)
            except OSError:
                continue
            if target.startswith("socket:["):
                sockets.add(target[8:-1])
        wanted = f"0100007F:{port:04X}"
        lines = Path("/proc/net/tcp").read_text().splitlines()[1:]
        return sum(words[1] == wanted and words[9] in sockets and words[3] != "0A" for words in map(str.split, lines))

    # ---- What it leaves ---------------------------------------------------------------------------

    def connected(self) -> int:
        """Connections of callers that are still open on nginx's side."""
        wanted = {f"0100007F:{self.port:04X}", f"0100007F:{self.port_h2:04X}"}
        lines = Path("/proc/net/tcp").read_text().splitlines()[1:]
        # 01: established, 08: the caller has closed and nginx has not.
        return sum(words[1] in wanted and words[3] in ("01", "08") for words in map(str.split, lines))

    def check_error_log(self) -> None:
        for line in (self.work / "error.log").read_text(errors="replace").splitlines():
            died = re.search(r"worker process (\d+) exited on signal (\d+)", line)
            if died is not None and int(died[1]) in self.killed and died[2] == "9":
                continue
            if died is not None or re.search(r"\[(alert|emerg|crit)\]", line) or "exited with fatal" in line:
                raise Wrong(f"the error log says: {line}")

    def usage(self) -> dict[str, int]:
        """Of the master and of its hungriest worker: resident KiB and open files."""
        assert self.master is not None

        def resident(pid: int) -> int:
            found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
            return int(found[1]) if found else 0

        def files(pid: int) -> int:
            return len(list(Path(f"/proc/{pid}/fd").iterdir()))

        workers = self.current_workers()
        return {
            "master_kib": resident(self.master.pid),
            "master_files": files(self.master.pid),
            "worker_kib": max(map(resident, workers), default=0),
            "worker_files": max(map(files, workers), default=0),
        }

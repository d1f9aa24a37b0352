"""The stage on which each pitfall is shown: real servers on free loopback ports.

What a stage has started is ended when it closes, by pid, however that comes about.
"""

import contextlib
import dataclasses
import json
import os
import pathlib
import random
import re
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMMAND = os.environ.get("LOADLINE_COMMAND") or str(ROOT / "build/bin/loadline")
MODULE = os.environ.get("LOADLINE_MODULE") or str(ROOT / "build/modules/ngx_http_loadline_module.so")
NGINX = os.environ.get("LOADLINE_NGINX") or shutil.which("nginx") or "/usr/sbin/nginx"
# What a stage starts ends with it, also where it is killed and cannot see to that itself.
LEASH = ["setpriv", "--pdeathsig", "TERM"]


@dataclasses.dataclass
class Figure:
    """One number, both ways; None where there is none, as the latency of a run that served nobody."""

    name: str
    wrong: float | None
    right: float | None
    unit: str = ""
    digits: int = 0


@dataclasses.dataclass
class Shown:
    """What a pitfall's run has found: the figures, and what is claimed of them."""

    setting: str
    figures: list[Figure]
    claims: list[tuple[str, bool]]


def wait_until(what: str, condition, seconds: float = 10) -> None:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(f"waited in vain until {what}")
        time.sleep(0.01)


def free_port() -> int:
    """Below the range from which the system draws the ports of outgoing connections."""
    while True:
        port = random.randint(20000, 31999)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def is_listening(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def status_of(url: str, timeout: float = 5) -> int:
    """The status, or 0 where there was no answer in time."""
    try:
        with urllib.request.urlopen(url, timeout=timeout) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code
    except (OSError, ValueError):
        return 0


def read_json(url: str) -> dict:
    with urllib.request.urlopen(url, timeout=5) as answer:
        return json.load(answer)


def cpu_seconds(pid: int) -> float:
    """In nanoseconds of the scheduler, since a clock tick is too coarse for what a rejection costs."""
    return int(pathlib.Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9


class Nginx:
    """An nginx with the module, of one worker, so that its processor time is one number."""

    def __init__(self, stage: "Stage", name: str, http: str, main: str, port: int):
        self.folder = stage.folder / name
        self.folder.mkdir()
        self.port = port
        self.url = f"http://127.0.0.1:{port}"
        self._main = main
        self.access_log = self.folder / "access.log"
        self.error_log = self.folder / "error.log"
        self.write(http)
        self.process = stage.start([NGINX, "-p", str(self.folder), "-e", str(self.error_log), "-c",
                                    str(self.folder / "nginx.conf"), "-g", "daemon off;"])
        wait_until(f"{name} listens", lambda: is_listening(port))

    def write(self, http: str) -> None:
        temporary = "\n".join(f"  {kind}_temp_path {self.folder}/{kind};" for kind in
                              ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        user = "user root;" if os.getuid() == 0 else ""
        (self.folder / "nginx.conf").write_text(f"""load_module {MODULE};
{user}
worker_processes 1;
error_log {self.error_log};
pid {self.folder}/nginx.pid;
{self._main}
events {{ worker_connections 4096; }}
http {{
  access_log off;
  log_format attempts '$msec $status $request_uri';
  proxy_http_version 1.1;
{temporary}
{http}
}}
""")

    def reload(self, http: str) -> None:
        self.write(http)
        self.process.send_signal(1)  # SIGHUP

    def worker(self) -> int:
        children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return int(children.read_text().split()[0])

    def gate(self, name: str = "") -> dict:
        gates = read_json(f"{self.url}/status")["gates"]
        return next(gate for gate in gates if not name or gate["name"] == name)


class Service:
    """The demo service: so many workers, an unbounded queue, no protection of its own."""

    def __init__(self, stage: "Stage", workers: int, service: str):
        self._stage = stage
        self._options = ["--workers", str(workers), "--service", service]
        self.address = "127.0.0.1:0"
        self.begin()

    def begin(self) -> None:
        """Again, where it has ended: at the address that it had."""
        log = self._stage.folder / f"service{len(self._stage.processes)}.log"
        self.process = self._stage.start([COMMAND, "serve", "--listen", self.address, *self._options], log)
        wait_until("the service listens", lambda: "listening: " in log.read_text())
        self.url = re.search(r"listening: (\S+)", log.read_text())[1]
        self.address = self.url.removeprefix("http://")

    def stats(self) -> dict:
        return read_json(f"{self.url}/stats")


class Stage:
    parent = None  # where its folder is; the system's temporary one

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="pitfalls.", dir=self.parent))
        self.processes = []

    def __enter__(self) -> "Stage":
        return self

    def __exit__(self, *_) -> None:
        for process in reversed(self.processes):
            self.end(process)
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self, command: list[str], log: pathlib.Path | None = None) -> subprocess.Popen:
        with open(log or os.devnull, "w") as output:
            process = subprocess.Popen(LEASH + command, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
        self.processes.append(process)
        return process

    @staticmethod
    def end(process: subprocess.Popen) -> None:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def service(self, workers: int, service: str) -> Service:
        return Service(self, workers, service)

    def nginx(self, name: str, http: str, main: str = "") -> Nginx:
        """PORT in the text is where it listens."""
        port = free_port()
        return Nginx(self, name, http.replace("PORT", str(port)), main, port)

    def begin_load(self, url: str, rate: str, seconds: float, *options: str) -> subprocess.Popen:
        process = subprocess.Popen(
            [*LEASH, COMMAND, "load", url, "--rate", rate, "--duration", f"{seconds}s", "--json", "--allow-starved",
             *options], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        self.processes.append(process)
        return process

    @staticmethod
    def loaded(process: subprocess.Popen) -> dict:
        output, _ = process.communicate(timeout=120)
        if process.returncode != 0:
            raise RuntimeError(f"loadline load ended with {process.returncode}")
        return json.loads(output)

    def load(self, url: str, rate: str, seconds: float, *options: str) -> dict:
        return self.loaded(self.begin_load(url, rate, seconds, *options))

    free_port = staticmethod(free_port)

    def hold(self, url: str, count: int = 1) -> None:
        """Requests that stay open until the stage closes."""
        for _ in range(count):
            self.start(["curl", "-s", "-m", "120", "-o", os.devnull, url])

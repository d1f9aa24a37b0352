"""The service behind nginx, and the watch on how many callers it has at the same time."""

import http.client
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from events import Events, Wrong, until
from proxy import Proxy

UPSTREAM = Path(__file__).parent.parent / "e2e" / "clients" / "upstream.py"


class Service:
    def __init__(self, work: Path, port: int) -> None:
        self.work, self.port = work, port
        self.process: subprocess.Popen[bytes] | None = None
        self.stands_still = False

    def start(self) -> None:
        with (self.work / "service.log").open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, UPSTREAM, "--port", str(self.port)], stdout=log, stderr=log, start_new_session=True
            )
        until("the service answers", self.answers)

    def answers(self) -> bool:
        try:
            self.take()
            return True
        except (OSError, http.client.HTTPException):
            return False

    def take(self) -> dict[str, int]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            connection.request("GET", "/take")
            result: dict[str, int] = json.loads(connection.getresponse().read())
            return result
        finally:
            connection.close()

    def signal(self, number: int) -> None:
        assert self.process is not None
        os.kill(self.process.pid, number)

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


class Watch:
    """Compares what the service has had at most with the limit in force, window by window.

    In force is the limit of the gate. While it is being changed, the greater of both. Where a reload has made
    another gate (its zone has another size), that of the earlier one as well for as long as a worker of it
    runs: that is what the documentation says. Observing, any number. What runs when a limit gets smaller
    goes on, so the greater one is in force until the gate has no more in flight than the smaller.
    """

    def __init__(self, service: Service, proxy: Proxy, events: Events) -> None:
        self.service, self.proxy, self.events = service, proxy, events
        self.lock = threading.RLock()
        self.in_force: set[float] = {proxy.limit}
        self.window: float = 0
        self.most = 0
        self.reached = 0  # windows in which the limit was reached exactly
        self.windows = 0
        self.wrong: str | None = None
        self.ends = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.note_allowed()

    def allowed(self) -> float:
        return max(self.in_force) + sum(each.limit for each in self.proxy.earlier if each.runs)

    def note_allowed(self) -> None:
        self.window = max(self.window, self.allowed())

    def changing(self, limit: float) -> None:
        """From now on this may be in force as well."""
        with self.lock:
            self.in_force.add(limit)
            self.note_allowed()

    def changed(self, limit: float) -> None:
        """From now on this alone is."""
        with self.lock:
            self.note_allowed()
            self.in_force = {limit}

    def look(self) -> None:
        with self.lock:
            self.note_allowed()
            if self.service.stands_still or self.service.process is None:
                return
            stats = self.service.take()
            most, bound = stats["most"], self.window
            self.windows += 1
            self.reached += most == bound
            self.most = max(self.most, most)
            if most > bound and self.wrong is None:
                self.wrong = f"the service had {most} callers at once, and {bound:g} was the most allowed"
            self.window = self.allowed()

    def run(self) -> None:
        while not self.ends.wait(0.1):
            try:
                self.look()
            except (OSError, http.client.HTTPException, ValueError) as error:
                self.wrong = self.wrong or f"the service cannot be asked: {error!r}"

    def check(self) -> None:
        if self.wrong is not None:
            raise Wrong(self.wrong)

    # ---- What is done to the service ----------------------------------------------------------------

    def stand_still(self, seconds: float) -> None:
        with self.lock:
            self.look()
            self.service.stands_still = True
            self.service.signal(signal.SIGSTOP)
        time.sleep(seconds)
        self.service.signal(signal.SIGCONT)
        with self.lock:
            self.service.stands_still = False

    def restart(self, seconds: float) -> None:
        with self.lock:
            self.look()
            self.service.kill()
        time.sleep(seconds)
        with self.lock:
            self.service.start()

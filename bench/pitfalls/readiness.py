"""Health checks tied to load: who is busy is taken away or restarted, and the rest get busier."""

import concurrent.futures
import contextlib
import threading
import time

from pitfall import Pitfall
from stage import Figure, Service, Shown, Stage, status_of

INSTANCES = 10
WORKERS, SERVICE_MS = 2, 100
CAPACITY = INSTANCES * WORKERS * 1000 / SERVICE_MS
FAILURES = SUCCESSES = 3  # so many in a row decide
OUTSIDE = "loadline off; proxy_pass http://SERVICE/healthz;"


class Prober:
    """Asks a path of each instance once an interval, and says who has failed, or succeeded, three times in a row."""

    def __init__(self, ports: list[int], path: str, interval: float):
        self._ports, self._path, self._interval = ports, path, interval
        self._streak = dict.fromkeys(ports, 0)  # successes above 0, failures below
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._probe)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_) -> None:
        self._stop.set()
        self._thread.join()

    def _probe(self) -> None:
        with concurrent.futures.ThreadPoolExecutor(INSTANCES) as probes:
            while not self._stop.wait(self._interval):
                urls = [f"http://127.0.0.1:{port}{self._path}" for port in self._ports]
                for port, status in zip(self._ports, probes.map(lambda url: status_of(url, 1), urls)):
                    streak = self._streak[port]
                    self._streak[port] = max(streak, 0) + 1 if status == 200 else min(streak, 0) - 1
                self.judge({port for port, streak in self._streak.items() if streak <= -FAILURES},
                           {port for port, streak in self._streak.items() if streak >= SUCCESSES})

    def judge(self, failed: set[int], succeeded: set[int]) -> None:
        raise NotImplementedError


class Balancer(Prober):
    """nginx in front of all instances. Who fails leaves the list of its upstream, who succeeds comes back: what a load
    balancer, or Kubernetes by its readiness probes, does by itself."""

    def __init__(self, stage: Stage, ports: list[int], interval: float):
        super().__init__(ports, "/readyz", interval)
        self._ready = set(ports)
        self.in_rotation = []  # one number a round
        self._nginx = stage.nginx("balancer", self._http("PORT"))
        self.url = self._nginx.url

    def _http(self, port: str) -> str:
        servers = "\n".join(f"    server 127.0.0.1:{each} max_fails=0{'' if each in self._ready else ' down'};"
                            for each in self._ports)
        return f"""
  upstream instances {{
{servers}
  }}
  server {{
    listen 127.0.0.1:{port};
    location / {{ proxy_pass http://instances; proxy_next_upstream off; }}
  }}"""

    def judge(self, failed: set[int], succeeded: set[int]) -> None:
        ready = (self._ready - failed) | succeeded
        if ready != self._ready:
            self._ready = ready
            self._nginx.reload(self._http(str(self._nginx.port)))
        self.in_rotation.append(len(ready))


class Keeper(Prober):
    """Restarts the service whose liveness probe fails; it is back when it has warmed up. As a kubelet does."""

    def __init__(self, services: dict[int, Service], interval: float, warm_up: float):
        super().__init__(list(services), "/livez", interval)
        self._services, self._warm_up = services, warm_up
        self._back_at = {}
        self.restarts = 0

    def judge(self, failed: set[int], succeeded: set[int]) -> None:
        now = time.monotonic()
        away = set(self._back_at)  # what has failed while it was is no reason to end it again
        for port in [port for port, back in self._back_at.items() if back <= now]:
            del self._back_at[port]
            self._streak[port] = 0
            self._services[port].begin()
        for port in failed - away:
            self.restarts += 1
            self._back_at[port] = now + self._warm_up
            Stage.end(self._services[port].process)


def measure(ready: str, live: str | None, load: float, seconds: float, interval: float,
            warm_up: float = 0) -> tuple[list[int], int, float]:
    """The instances in rotation in the second half, the restarts, and the goodput of the capacity."""
    with Stage() as stage:
        services = [stage.service(WORKERS, f"{SERVICE_MS}ms") for _ in range(INSTANCES)]
        gates = "".join(f"  loadline_gate api{i}:256k limit={WORKERS};\n" for i in range(INSTANCES))
        ports = [stage.free_port() for _ in range(INSTANCES)]
        servers = "".join(f"""
  server {{
    listen 127.0.0.1:{port};
    loadline api{i};
    location / {{ proxy_pass http://{service.address}; }}
    {ready}
    {live or ""}
  }}""".replace("loadline api;", f"loadline api{i};").replace("SERVICE", service.address)
                          for i, (service, port) in enumerate(zip(services, ports)))
        stage.nginx("instances", f"{gates}{servers}\n  server {{ listen 127.0.0.1:PORT; }}")
        with contextlib.ExitStack() as probers:
            keeper = None
            if live:
                keeper = probers.enter_context(Keeper(dict(zip(ports, services)), interval, warm_up))
            balancer = probers.enter_context(Balancer(stage, ports, interval))
            result = stage.load(balancer.url, str(load * CAPACITY), seconds, "--warmup", f"{seconds / 2}s")
        second_half = balancer.in_rotation[len(balancer.in_rotation) // 2:]
        return second_half, keeper.restarts if keeper else 0, result["goodput_per_second"] / CAPACITY


def setting(load: float, seconds: float, interval: float) -> str:
    return (f"{INSTANCES} instances of {WORKERS} workers x {SERVICE_MS} ms, each behind a gate of its own and all behind one balancer, at "
            f"{load} times their capacity for {seconds} s. A probe each {interval} s; ")


def run_readiness(pitfall: Pitfall, short: bool) -> Shown:
    load, seconds, interval = (2.0, 5, 0.1) if short else (1.4, 30, 0.5)
    wrong, _, wrong_goodput = measure(pitfall.wrong, None, load, seconds, interval)
    right, _, right_goodput = measure(pitfall.right, None, load, seconds, interval)
    return Shown(
        setting(load, seconds, interval) + "three failures take an instance out of rotation, three successes bring it back. "
        "Of the second half:",
        [Figure("instances in rotation, fewest", min(wrong), min(right)),
         Figure("instances in rotation, mean", sum(wrong) / len(wrong), sum(right) / len(right), digits=1),
         Figure("goodput of capacity", 100 * wrong_goodput, 100 * right_goodput, "%")],
        [("with the probe in the gate at most 7 of 10 stay", min(wrong) <= 7),
         ("with the probe outside all 10 stay", min(right) == INSTANCES),
         ("and all of the capacity is used", right_goodput >= 0.85),
         ("which it is not without", wrong_goodput <= right_goodput - 0.1)])


READINESS = Pitfall(
    "readiness", "Readiness tied to load",
    "A probe that is judged like any other request fails when the instance is busy. The balancer takes the instance away, the "
    "others get its load, fail their probes too, and so on. Those that were taken away are idle, come back, and fall again. "
    "A probe belongs outside the gate and answers \"alive, and able to reach what I "
    "need\", never \"idle\". `loadline run` keeps `/healthz`, `/livez` and `/readyz` outside by itself; for Kubernetes there is "
    "[a recipe](recipes.md#health-and-readiness-in-kubernetes).",
    "location = /readyz { loadline api; proxy_pass http://SERVICE/healthz; }",
    "location = /readyz { loadline off; proxy_pass http://SERVICE/healthz; }",
    run_readiness)


def run_liveness(pitfall: Pitfall, short: bool) -> Shown:
    # In few seconds the restarts must weigh more to be told from noise: more of them, and longer ones.
    load, seconds, interval, warm_up = (2.0, 5, 0.1, 2.0) if short else (1.4, 30, 0.5, 5.0)
    ready = f"location = /readyz {{ {OUTSIDE} }}"
    _, wrong, wrong_goodput = measure(ready, pitfall.wrong, load, seconds, interval, warm_up)
    _, right, right_goodput = measure(ready, pitfall.right, load, seconds, interval, warm_up)
    return Shown(
        setting(load, seconds, interval) + f"three failures of liveness restart a service, which is back {warm_up} s later. "
        "Readiness is outside the gate. Goodput is of the second half:",
        [Figure("restarts", wrong, right), Figure("goodput of capacity", 100 * wrong_goodput, 100 * right_goodput, "%")],
        [("with the probe in the gate services are restarted", wrong >= 3), ("with the probe outside none is", right == 0),
         ("and all of the capacity is used", right_goodput >= 0.85),
         ("which it is not without", wrong_goodput <= right_goodput - 0.15)])


LIVENESS = Pitfall(
    "liveness", "Liveness tied to load",
    "The same with the probe whose failure means a restart is worse: what was accepted is lost, and the instance does nothing at all while it "
    "warms up, which takes longer in life than here.",
    "location = /livez { loadline api; proxy_pass http://SERVICE/healthz; }",
    "location = /livez { loadline off; proxy_pass http://SERVICE/healthz; }",
    run_liveness)

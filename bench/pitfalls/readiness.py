"""Readiness tied to load: a balancer takes away who is busy, and the rest get busier."""

import concurrent.futures
import threading

from pitfall import Pitfall
from stage import Figure, Shown, Stage, status_of

INSTANCES = 10
WORKERS, SERVICE_MS = 2, 100
CAPACITY = INSTANCES * WORKERS * 1000 / SERVICE_MS
FAILURES_TO_LEAVE = SUCCESSES_TO_RETURN = 3


class Balancer:
    """nginx in front of all instances. A checker asks each for its readiness; who fails three times leaves
    the list of the upstream, who succeeds three times comes back: what a load balancer does by itself."""

    def __init__(self, stage: Stage, ports: list[int], interval: float):
        self._ports = ports
        self._interval = interval
        self._streak = dict.fromkeys(ports, 0)  # successes above 0, failures below
        self.ready = set(ports)
        self.in_rotation = []  # one number a round
        self._nginx = stage.nginx("balancer", self._http())
        self.url = self._nginx.url
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._check)

    def _http(self) -> str:
        port = getattr(getattr(self, "_nginx", None), "port", "PORT")
        servers = "\n".join(f"    server 127.0.0.1:{each} max_fails=0{'' if each in self.ready else ' down'};"
                            for each in self._ports)
        return f"""
  upstream instances {{
{servers}
  }}
  server {{
    listen 127.0.0.1:{port};
    location / {{ proxy_pass http://instances; proxy_next_upstream off; }}
  }}"""

    def __enter__(self) -> "Balancer":
        self._thread.start()
        return self

    def __exit__(self, *_) -> None:
        self._stop.set()
        self._thread.join()

    def _check(self) -> None:
        with concurrent.futures.ThreadPoolExecutor(INSTANCES) as probes:
            while not self._stop.wait(self._interval):
                answers = probes.map(lambda port: status_of(f"http://127.0.0.1:{port}/readyz", 1), self._ports)
                before = set(self.ready)
                for port, status in zip(self._ports, answers):
                    self._judge(port, status == 200)
                if self.ready != before:
                    self._nginx.reload(self._http())
                self.in_rotation.append(len(self.ready))

    def _judge(self, port: int, succeeded: bool) -> None:
        streak = self._streak[port]
        self._streak[port] = max(streak, 0) + 1 if succeeded else min(streak, 0) - 1
        if self._streak[port] <= -FAILURES_TO_LEAVE:
            self.ready.discard(port)
        elif self._streak[port] >= SUCCESSES_TO_RETURN:
            self.ready.add(port)


def measure(probe: str, load: float, seconds: float, interval: float) -> tuple[list[int], float]:
    with Stage() as stage:
        services = [stage.service(WORKERS, f"{SERVICE_MS}ms") for _ in range(INSTANCES)]
        gates = "".join(f"  loadline_gate api{i}:256k limit={WORKERS};\n" for i in range(INSTANCES))
        ports, servers = [], ""
        # The first listens on the port that the stage draws, by which it knows that all do.
        for i, service in enumerate(services):
            ports.append(stage.free_port() if i else 0)
            servers += f"""
  server {{
    listen 127.0.0.1:{ports[i] or "PORT"};
    loadline api{i};
    location / {{ proxy_pass http://{service.address}; }}
    {probe.replace("loadline api;", f"loadline api{i};").replace("SERVICE", service.address)}
  }}"""
        instances = stage.nginx("instances", gates + servers)
        ports[0] = instances.port
        with Balancer(stage, ports, interval) as balancer:
            result = stage.load(balancer.url, str(load * CAPACITY), seconds, "--warmup", f"{seconds / 2}s")
        second_half = balancer.in_rotation[len(balancer.in_rotation) // 2:]
        return second_half, result["goodput_per_second"] / CAPACITY


def run(pitfall: Pitfall, short: bool) -> Shown:
    load, seconds, interval = (1.6, 5, 0.1) if short else (1.4, 30, 0.5)
    wrong, wrong_goodput = measure(pitfall.wrong, load, seconds, interval)
    right, right_goodput = measure(pitfall.right, load, seconds, interval)
    return Shown(
        f"{INSTANCES} instances of {WORKERS} workers x {SERVICE_MS} ms, each behind a gate of its own and all behind one balancer, at "
        f"{load} times their capacity for {seconds} s. A probe each {interval} s; three failures take an instance out of "
        "rotation, three successes bring it back. Of the second half:",
        [Figure("instances in rotation, fewest", min(wrong), min(right)),
         Figure("instances in rotation, mean", sum(wrong) / len(wrong), sum(right) / len(right), digits=1),
         Figure("goodput of capacity", 100 * wrong_goodput, 100 * right_goodput, "%")],
        [("with the probe in the gate at most 6 of 10 stay", min(wrong) <= 6),
         ("with the probe outside all 10 stay", min(right) == INSTANCES),
         ("and all of the capacity is used", right_goodput >= 0.85),
         ("which it is not without", wrong_goodput <= right_goodput - 0.1)])


READINESS = Pitfall(
    "readiness", "Readiness tied to load",
    "A probe that is judged like any other request fails when the instance is busy. The balancer takes the instance away, the "
    "others get its load, fail their probes too, and so on. Those that were taken away are idle, come back, and fall again. A liveness "
    "probe is worse: it restarts them. A probe belongs outside the gate and answers \"alive, and able to reach what I "
    "need\", never \"idle\". `loadline run` keeps `/healthz`, `/livez` and `/readyz` outside by itself.",
    "location = /readyz { loadline api; proxy_pass http://SERVICE/healthz; }",
    "location = /readyz { loadline off; proxy_pass http://SERVICE/healthz; }",
    run)

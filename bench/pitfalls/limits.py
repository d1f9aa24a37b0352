"""Where the limit stands and what it counts: queues, rates, pools, instances, scaling."""

import time

from pitfall import Pitfall, per
from stage import Figure, Shown, Stage

# ---- A queue longer than anyone waits ------------------------------------------------------------


def queued(conf: str, seconds: float) -> tuple[float, float | None, float]:
    with Stage() as stage:
        service = stage.service(4, "20ms")
        nginx = stage.nginx("front", f"""
  {conf}
  server {{ listen 127.0.0.1:PORT; location / {{ loadline api; proxy_pass http://{service.address}; }} }}""")
        # Patience of a second. Callers close, but what has waited nearly as long starts all the same.
        result = stage.load(nginx.url, "400", seconds, "--warmup", f"{seconds / 2}s")
        stats = service.stats()
        return (result["goodput_per_second"], result["accepted_ms"]["p99"],
                100 * per(stats["abandoned"], stats["started"]))


def run_queue(pitfall: Pitfall, short: bool) -> Shown:
    seconds = 5 if short else 12
    wrong, right = queued(pitfall.wrong, seconds), queued(pitfall.right, seconds)
    return Shown(
        f"A service that can do 200/s, 400/s for {seconds} s, callers who leave after 1 s; second half:",
        [Figure("goodput", wrong[0], right[0], "/s"),
         Figure("p99 of the accepted", wrong[1], right[1], "ms"),
         Figure("work begun for callers who left", wrong[2], right[2], "%", 1)],
        [("a long queue makes everybody wait, or leave", wrong[1] is None or wrong[1] >= 600),
         ("a bounded wait does not", right[1] is not None and 20 <= right[1] <= 350),
         ("and serves as much", 140 <= right[0] <= 230),
         ("with next to nothing wasted", right[2] <= 5)])


QUEUE = Pitfall(
    "queue", "A queue longer than the caller's patience",
    "A queue that is sized by what memory holds only stores requests that will time out: when a turn comes, its caller "
    "has left or is about to. Size it from the wait that is acceptable; `queue=auto` and `wait=` do. "
    "Without any bound it is worse still: [the demo](measurements.md#the-demo).",
    "loadline_gate api:1m limit=4 queue=5000 wait=60s order=fifo;",
    "loadline_gate api:1m limit=4 queue=auto wait=100ms;",
    run_queue)

# ---- A threshold in requests per second ----------------------------------------------------------


def slowed(conf: str, seconds: float) -> tuple[float, float]:
    with Stage() as stage:
        service = stage.service(4, "20ms")
        zone, rule = conf.split("\n", 1)
        nginx = stage.nginx("front", f"""
  {zone}
  server {{
    listen 127.0.0.1:PORT;
    location / {{
{rule}
      proxy_pass http://{service.address};
    }}
  }}""")
        as_planned = stage.load(nginx.url, "240", seconds / 2)["goodput_per_second"]
        slow = stage.load(f"{nginx.url}/sleep?ms=80", "240", seconds, "--warmup", f"{seconds / 2}s")
        return as_planned, slow["goodput_per_second"]


def run_rate(pitfall: Pitfall, short: bool) -> Shown:
    seconds = 4 if short else 12
    wrong, right = slowed(pitfall.wrong, seconds), slowed(pitfall.right, seconds)
    return Shown(
        "A service of 4 workers, 240/s. First at 20 ms a job, which is 200/s and what the rate was set to; then at 80 ms, which is 50/s:",
        [Figure("goodput at 80 ms", wrong[1], right[1], "/s"), Figure("goodput at 20 ms", wrong[0], right[0], "/s")],
        [("a limit on work in flight serves what can be done, fast", right[0] >= 120),
         ("and slow", 35 <= right[1] <= 60),
         ("a rate does not know that jobs became longer", wrong[1] <= right[1] / 2)])


RATE = Pitfall(
    "rate", "A threshold in requests per second",
    "The same rate is comfortable at 20 ms a job and overwhelming at 80 ms. What is in flight, and not the rate, fixes the time that a "
    "job takes (L = lambda W). A rate is right for a quota: what one caller may ask.",
    """limit_req_zone $server_port zone=api:64k rate=200r/s;
limit_req zone=api burst=20 nodelay;""",
    """loadline_gate api:256k limit=4;
loadline api;""",
    run_rate)

# ---- One pool for payments and reports -----------------------------------------------------------


def pooled(conf: str, seconds: float) -> tuple[float, float | None]:
    with Stage() as stage:
        service = stage.service(10, "50ms")
        gates, locations = conf.split("\n\n", 1)
        nginx = stage.nginx("front", f"""
  {gates}
  server {{ listen 127.0.0.1:PORT; {locations.replace("SERVICE", service.address)} }}""")
        reports = stage.begin_load(f"{nginx.url}/reports/sleep?ms=1000", "30", seconds, "--timeout", "5s")
        payments = stage.load(f"{nginx.url}/pay/", "60", seconds, "--warmup", f"{seconds / 2}s")
        stage.loaded(reports)
        return 100 * per(payments["good"], payments["calls"]), payments["accepted_ms"]["p99"]


def run_pools(pitfall: Pitfall, short: bool) -> Shown:
    seconds = 5 if short else 15
    wrong, right = pooled(pitfall.wrong, seconds), pooled(pitfall.right, seconds)
    return Shown(
        "A service of 10 workers. Payments: 60/s of 50 ms, a third of it. Exports: 30/s of 1 s, three times what it can do. Second half:",
        [Figure("payments served", wrong[0], right[0], "%"), Figure("p99 of the payments served", wrong[1], right[1], "ms")],
        [("in one pool payments are refused for exports", wrong[0] <= 80),
         ("in two they are not", right[0] >= 97),
         ("and take no longer than they must", right[1] is not None and 40 <= right[1] <= 300)])


POOLS = Pitfall(
    "pools", "One pool for payments and exports",
    "What shares a pool goes down together. Give what users wait for and what can wait a gate each: when the one of the exports is full, "
    "payments do not notice. Classes in one gate are finer, and let exports use what payments leave: [gate.md](gate.md#importance).",
    """loadline_gate all:256k limit=10;

location /pay/     { loadline all; proxy_pass http://SERVICE/; }
location /reports/ { loadline all; proxy_pass http://SERVICE/; }""",
    """loadline_gate pay:256k limit=8; loadline_gate reports:256k limit=2;

location /pay/     { loadline pay; proxy_pass http://SERVICE/; }
location /reports/ { loadline reports; proxy_pass http://SERVICE/; }""",
    run_pools)

# ---- The limit is per instance -------------------------------------------------------------------

INSTANCES = 10


def divided(gate: str, burst: int) -> int:
    with Stage() as stage:
        database = stage.service(50, "50ms")
        gates = "\n".join(gate.replace("api:", f"api{i}:") for i in range(INSTANCES))
        ports = [stage.free_port() for _ in range(INSTANCES)]
        servers = "".join(f"""
  server {{
    listen 127.0.0.1:{port};
    location / {{ loadline api{i}; proxy_pass http://{database.address}; }}
  }}""" for i, port in enumerate(ports))
        nginx = stage.nginx("instances", f"""{gates}
{servers}
  upstream instances {{ {" ".join(f"server 127.0.0.1:{port} max_fails=0;" for port in ports)} }}
  server {{ listen 127.0.0.1:PORT; location / {{ proxy_pass http://instances; proxy_next_upstream off; }} }}""")
        # A burst of long queries: all that is let through is at the database at the same time.
        stage.load(f"{nginx.url}/sleep?ms=1000", "1", 2, "--burst", f"{burst}@1s", "--timeout", "15s")
        return database.stats()["max_outstanding"]


def run_instances(pitfall: Pitfall, short: bool) -> Shown:
    burst = 700
    wrong, right = divided(pitfall.wrong, burst), divided(pitfall.right, burst)
    return Shown(
        f"{INSTANCES} instances before a database with a pool of 50, {burst} queries of a second at once:",
        [Figure("most queries at the database at once", wrong, right)],
        [("ten times fifty are five hundred", 350 <= wrong <= 500), ("ten times five are fifty", 25 <= right <= 50)])


PER_INSTANCE = Pitfall(
    "instances", "Forgetting that the limit is per instance",
    "The number of instances changes, the database behind them does not. Divide what the bottleneck can do by the number of "
    "instances, or put one gate where all of it passes: [the recipe](recipes.md#ten-instances-before-one-database).",
    "loadline_gate api:256k limit=50 queue=off;  # in each of ten instances",
    "loadline_gate api:256k limit=5 queue=off;   # in each of ten instances",
    run_instances)

# ---- Relying on autoscaling ----------------------------------------------------------------------


def scaled(mode: str, before: int, after: int) -> tuple[float, float]:
    with Stage() as stage:
        services = [stage.service(2, "20ms") for _ in range(2)]

        def http(port: str, count: int) -> str:
            servers = " ".join(f"server {each.address} max_fails=0;" for each in services[:count])
            return f"""
  {mode.replace("limit=2", f"limit={2 * count}")}
  upstream service {{ {servers} }}
  server {{
    listen 127.0.0.1:{port};
    location / {{ loadline api; proxy_pass http://service; }}
  }}"""

        nginx = stage.nginx("front", http("PORT", 1))
        load = stage.begin_load(nginx.url, "160", before + after)
        time.sleep(before)  # what is waited for is the time itself
        nginx.reload(http(str(nginx.port), 2))
        seconds = stage.loaded(load)["per_second"]
        # The second in which it happens, and the one before, belong to neither.
        late, new = seconds[before // 2:before - 1], seconds[before + 1:before + after]
        return sum(each["good"] for each in late) / len(late), sum(each["good"] for each in new) / len(new)


def run_scaling(pitfall: Pitfall, short: bool) -> Shown:
    before, after = (5, 4) if short else (20, 12)
    wrong, right = scaled(pitfall.wrong, before, after), scaled(pitfall.right, before, after)
    return Shown(
        f"160/s at an instance that can do 100/s, and a second one after {before} s; callers who leave after 1 s:",
        [Figure("goodput before the second instance", wrong[0], right[0], "/s"),
         Figure(f"goodput in the {after - 1} s after it has come", wrong[1], right[1], "/s")],
        [("without a gate next to nobody is served meanwhile", wrong[0] <= 40),
         ("with one, what the instance can do", 60 <= right[0] <= 115),
         ("and the second one counts at once", right[1] >= 120),
         ("and does not where the first has a queue to work off", wrong[1] <= right[1] - 15)])


SCALING = Pitfall(
    "scaling", "Relying on autoscaling",
    "An instance takes minutes to come up, a spike seconds. Until then the gate keeps the service useful. It also leaves no queue behind: "
    "without it the old instance goes on answering those who have left when the new one has long begun. The rate of rejections is a good "
    "signal to scale by.",
    "loadline_gate api:256k limit=2 mode=off;",
    "loadline_gate api:256k limit=2;",
    run_scaling)

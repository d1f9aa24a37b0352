"""What a rejection costs: authentication before it, and a line in the log for it."""

import statistics

from pitfall import Pitfall, per
from stage import Figure, Shown, Stage, cpu_seconds, wait_until

# ---- Authentication ------------------------------------------------------------------------------


def authenticated(guarded: str, seconds: float) -> tuple[float, float]:
    with Stage() as stage:
        service, auth = stage.service(2, "50ms"), stage.service(2, "10ms")
        nginx = stage.nginx("front", f"""
  loadline_gate api:256k limit=3;
  server {{
    listen 127.0.0.1:PORT;
    location = /auth {{ internal; proxy_pass http://{auth.address}; }}
    {guarded.replace("SERVICE", service.address)}
    location = /status {{ loadline_stub_status; }}
  }}""")
        result = stage.load(nginx.url, "400", seconds, "--warmup", f"{seconds / 2}s")
        classes = nginx.gate()["classes"]
        admitted = sum(each["admitted"] for each in classes)
        # Who is admitted must be known in any case; what is above that was asked for nothing.
        return (per(max(0, auth.stats()["received"] - admitted), result["total"]["sent"] - admitted),
                result["goodput_per_second"])


def run_authentication(pitfall: Pitfall, short: bool) -> Shown:
    seconds = 5 if short else 12
    wrong, wrong_goodput = authenticated(pitfall.wrong, seconds)
    right, right_goodput = authenticated(pitfall.right, seconds)
    return Shown(
        f"A service that can do 40/s, an authorization service that can do 200/s, 400 requests a second for {seconds} s:",
        [Figure("calls of the authorization service per request that was turned away", wrong, right, digits=2),
         Figure("goodput, second half", wrong_goodput, right_goodput, "/s")],
        [("authenticated first, each rejection costs a call", wrong >= 0.9),
         ("refused first, it costs none", right <= 0.05),
         ("what is left is what the service can do", 24 <= right_goodput <= 50),
         ("not so with the authorization service overloaded as well", wrong_goodput <= right_goodput / 2)])


AUTHENTICATION = Pitfall(
    "authentication", "A rejection that costs: authentication first",
    "The decision must fall at the earliest point and cost close to nothing. Behind `auth_request` every rejection has cost the "
    "authorization service a call, and it is the next to be overloaded: then even the accepted wait for it too long. By default the gate "
    "is asked first. `precontent` is for where the class follows from who it is; give the authorization service a gate of its own then.",
    """location / {
    loadline_phase precontent;
    loadline api;
    auth_request /auth;
    proxy_pass http://SERVICE;
}""",
    """location / {
    loadline_phase preaccess;  # the default
    loadline api;
    auth_request /auth;
    proxy_pass http://SERVICE;
}""",
    run_authentication)

# ---- Logging -------------------------------------------------------------------------------------

RATE = 2000


def logged(conf: str, seconds: float) -> tuple[float, float]:
    """Lines in the error log per thousand rejections, and microseconds of the processor per rejection."""
    with Stage() as stage:
        service = stage.service(1, "1ms")
        zone, rule = conf.split("\n", 1)
        nginx = stage.nginx("front", f"""
  {zone}
  loadline_log_level error interval=1s;
  server {{
    listen 127.0.0.1:PORT;
    location / {{
{rule}
      proxy_pass http://{service.address};
    }}
  }}""")
        stage.hold(f"{nginx.url}/sleep?ms=100000")
        wait_until("the limit is reached", lambda: service.stats()["in_service"] == 1)
        before = cpu_seconds(nginx.worker())
        result = stage.load(nginx.url, str(RATE), seconds)
        spent = cpu_seconds(nginx.worker()) - before
        lines = sum(b"limiting" in line or b"rejected" in line for line in nginx.error_log.open("rb"))
        rejected = result["total"]["answered"].get("503", 0)
        return per(1000 * lines, rejected), per(1e6 * spent, rejected)


def run_logging(pitfall: Pitfall, short: bool) -> Shown:
    seconds, rounds = (1.5, 1) if short else (3, 7)
    pairs = [(logged(pitfall.wrong, seconds), logged(pitfall.right, seconds)) for _ in range(rounds)]
    # Medians of what was taken in turn: the machine's other work falls on both.
    lines, cpu = [[statistics.median(pair[way][figure] for pair in pairs) for way in (0, 1)] for figure in (0, 1)]
    return Shown(
        f"{RATE} rejections a second for {seconds} s, one nginx worker, log on a local disk; medians of {rounds}:",
        [Figure("lines in the error log per 1,000 rejections", *lines, digits=1),
         Figure("processor time per rejection", *cpu, "us", digits=1)],
        [("limit_conn writes a line for each", 990 <= lines[0] <= 1010),
         ("the gate writes one for each second", 0 < lines[1] <= 5),
         # A single short pair on a busy machine says no more than that.
         ("and is cheaper by it", cpu[1] < cpu[0] * (1.1 if short else 0.95)),
         ("in a sane amount of time", 1 <= cpu[1] <= 200)])


LOGGING = Pitfall(
    "logging", "Logging each rejection",
    "Logging a rejection must be cheaper than logging an admission, or shedding spends on the log what it has just saved. nginx's own "
    "limits write a line for each at their default level. Loadline counts, and writes one summary line an interval "
    "(ten seconds unless told otherwise; one here) which says how many and why. The line costs the disk more than the processor.",
    """limit_conn_zone $server_port zone=api:64k;
limit_conn api 1;
limit_conn_status 503;""",
    """loadline_gate api:256k limit=1 queue=off;
loadline api;""",
    run_logging)

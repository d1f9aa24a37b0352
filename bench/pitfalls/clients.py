"""What clients make of an answer: which status, when they come back, how often."""

import collections
import concurrent.futures
import subprocess
import threading
import time
import urllib.error
import urllib.request

from pitfall import Pitfall, per
from stage import Figure, Shown, Stage, read_json, wait_until

# ---- A client as there are many ------------------------------------------------------------------

# What urllib3's Retry does, and so requests and most of Python, where nothing else is configured: these
# are tried again if they say when, and nothing else is.
RETRIED_WITH_RETRY_AFTER = {413, 429, 503}


def call(url: str, attempts: int, start: threading.Barrier, sent: list[float]) -> bool:
    """Whether it was served. The time of each attempt goes to sent."""
    start.wait()
    for attempt in range(attempts):
        sent.append(time.monotonic())
        try:
            with urllib.request.urlopen(url, timeout=20) as answer:
                answer.read()
                return True
        except urllib.error.HTTPError as error:
            after = error.headers.get("Retry-After")
            if error.code not in RETRIED_WITH_RETRY_AFTER or after is None or attempt + 1 == attempts:
                return False
            time.sleep(int(after))
    return False


def call_at_once(url: str, callers: int, attempts: int) -> tuple[int, list[float]]:
    """How many of so many callers were served, and when each attempt was sent, the first at 0."""
    start, sent = threading.Barrier(callers), []
    with concurrent.futures.ThreadPoolExecutor(callers) as pool:
        results = [pool.submit(call, url, attempts, start, sent) for _ in range(callers)]
        served = sum(each.result() for each in results)
    return served, sorted(each - min(sent) for each in sent)


def small_service(stage: Stage, workers: int, gate: str, rules: str = "") -> str:
    """The URL of a service that does ten times as many a second, behind that gate."""
    service = stage.service(workers, "100ms")
    return stage.nginx("front", f"""
  {gate}
  server {{
    listen 127.0.0.1:PORT;
    location / {{
      loadline api;
      {rules}
      proxy_pass http://{service.address};
    }}
    location = /status {{ loadline_stub_status; }}
  }}""").url


# ---- 500 instead of 503 --------------------------------------------------------------------------


def curl_attempts(rules: str) -> int:
    """How often curl --retry 1 asks a gate that refuses everything."""
    with Stage() as stage:
        url = small_service(stage, 1, "loadline_gate api:256k limit=1 queue=off retry_after=1-1;", rules)
        stage.hold(f"{url}/sleep?ms=60000")
        wait_until("the limit is reached", lambda: rejected_by(url)[0] == 1)
        before = rejected_by(url)[1]
        # Not with -o /dev/null: curl cannot truncate that before it tries again, and then does not.
        subprocess.run(["curl", "-s", "-m", "20", "--retry", "1", url], stdout=subprocess.DEVNULL, check=False)
        return rejected_by(url)[1] - before


def rejected_by(url: str) -> tuple[int, int]:
    """In flight, and rejected."""
    gate = read_json(f"{url}/status")["gates"][0]
    return gate["in_flight"], sum(sum(each["rejected"].values()) for each in gate["classes"])


def said(rules: str, callers: int, retry_after: str) -> tuple[float, float]:
    with Stage() as stage:
        url = small_service(stage, 4, f"loadline_gate api:256k limit=4 retry_after={retry_after};", rules)
        served, sent = call_at_once(url, callers, 5)
        return 100 * served / callers, len(sent) / callers


def run_status(pitfall: Pitfall, short: bool) -> Shown:
    callers, retry_after = (40, "1-8") if short else (100, "1-32")
    wrong, right = said(pitfall.wrong, callers, retry_after), said(pitfall.right, callers, retry_after)
    curl = curl_attempts(pitfall.wrong), curl_attempts(pitfall.right)
    return Shown(
        f"{callers} callers at the same instant, a service that does 40 a second; a client with the rules of Python's urllib3 (413, 429 and 503 "
        "are tried again if they say when, at most 4 times), and `curl --retry 1` at a gate that is full:",
        [Figure("calls served in the end", wrong[0], right[0], "%"), Figure("attempts per call", wrong[1], right[1], digits=2),
         Figure("attempts of curl", *curl)],
        [("a 500 is taken for final", wrong[1] <= 1.01), ("and its caller goes away unserved", wrong[0] <= 60),
         ("a 503 brings back who was refused", right[1] >= 1.3), ("until it is served", right[0] >= 90),
         ("curl comes back to either", curl == (2, 2))])


STATUS = Pitfall(
    "status", "500 for a rejection",
    "500 says \"this failed, and might fail again\": most libraries do not repeat it. 503 with `Retry-After` says \"nothing was done, "
    "come back then\". (`curl --retry` does not tell them apart.)",
    "loadline_reject_status 500;",
    "loadline_reject_status 503;  # the default",
    run_status)

# ---- 429 for want of capacity --------------------------------------------------------------------


def blamed(conf: str, seconds: float) -> tuple[float, float, float]:
    """How many 429 and 503 there were, and how many of the 429 went to the caller above its quota."""
    gate, rules = conf.split("\n", 1)
    with Stage() as stage:
        service = stage.service(2, "20ms")
        url = stage.nginx("front", f"""
  {gate}
  server {{ listen 127.0.0.1:PORT; location / {{ {rules} proxy_pass http://{service.address}; }} }}""").url
        greedy = stage.begin_load(url, "60", seconds, "--header", "X-Api-Key: greedy")
        loads = [stage.begin_load(url, "18", seconds, "--header", f"X-Api-Key: modest{i}", "--seed", f"{i + 2}")
                 for i in range(8)]
        quota = stage.loaded(greedy)["total"]["answered"].get("429", 0)
        answered = collections.Counter()
        for each in loads:
            answered.update(stage.loaded(each)["total"]["answered"])
        return quota, answered["429"], answered["503"]


def run_blame(pitfall: Pitfall, short: bool) -> Shown:
    seconds = 3 if short else 10
    wrong, right = blamed(pitfall.wrong, seconds), blamed(pitfall.right, seconds)
    return Shown(
        f"A service that can do 100/s, a quota of 20/s a key. Eight callers ask 18/s each, one asks 60/s; {seconds} s:",
        [Figure("429 to callers within their quota", wrong[1], right[1]), Figure("503 to them", wrong[2], right[2]),
         Figure("share of all 429 that went to the one above its quota", 100 * per(wrong[0], wrong[0] + wrong[1]),
                100 * per(right[0], right[0] + right[1]), "%")],
        [("with 429 for all, those who did nothing wrong are told off", wrong[1] >= 15),
         # At 18/s of independent arrivals and a burst of 20, hardly any of theirs is above 20/s.
         ("with 503 they are not", right[1] <= wrong[1] / 5), ("but are told to come back", right[2] >= 15),
         ("and a 429 means one customer", per(right[0], right[0] + right[1]) >= 0.8)])


BLAME = Pitfall(
    "blame", "429 for want of capacity",
    "429 says \"you have had your share\", 503 \"I cannot take more\". A rise of the one is a customer's doing, a rise of the other is "
    "a problem of capacity, and each should wake somebody else. A quota's rejection is 429 whatever `loadline_reject_status` says.",
    """loadline_gate api:512k limit=2 quota=20r/s quota_burst=20;
loadline api quota=$http_x_api_key; loadline_reject_status 429;""",
    """loadline_gate api:512k limit=2 quota=20r/s quota_burst=20;
loadline api quota=$http_x_api_key; loadline_reject_status 503;""",
    run_blame)

# ---- All told the same second --------------------------------------------------------------------


def returned(gate: str, callers: int) -> tuple[float, float, float]:
    with Stage() as stage:
        url = small_service(stage, 10, gate)
        served, sent = call_at_once(url, callers, 4)
        # Returns in the fullest 100 ms; the first attempts were all at once by design.
        returns = collections.Counter(int(each * 10) for each in sent[callers:])
        return (max(returns.values(), default=0), len(sent) / callers, 100 * served / callers)


def run_storm(pitfall: Pitfall, short: bool) -> Shown:
    callers = 120 if short else 300
    right_gate = pitfall.right.replace("1-32", "1-8") if short else pitfall.right
    wrong, right = returned(pitfall.wrong, callers), returned(right_gate, callers)
    return Shown(
        f"{callers} callers at the same instant, a service that does 100 a second; each waits as it is told, and asks at most 4 times:",
        [Figure("returns in the fullest 100 ms", wrong[0], right[0]), Figure("attempts per call", wrong[1], right[1], digits=2),
         Figure("calls served in the end", wrong[2], right[2], "%")],
        [("told the same, they come back together", wrong[0] >= 0.5 * callers),
         ("told apart, they do not", right[0] <= 0.35 * callers),
         ("and ask less often", right[1] <= wrong[1] - 0.5),
         ("and are served", right[2] >= 90 and right[2] >= wrong[2] + 10)])


STORM = Pitfall(
    "storm", "Everyone is told the same second",
    "Those who are refused together and told the same number come back together, find the gate full again, and so on: a retry storm by "
    "appointment. Each of the gate's rejections gets the earliest second in which there is room for it "
    "([why](gate.md#when-to-come-back)). Clients should add a random part of their own all the same.",
    "loadline_gate api:256k limit=10 retry_after=1-1;",
    "loadline_gate api:256k limit=10 retry_after=1-32;  # the default",
    run_storm)

# ---- Retries at once -----------------------------------------------------------------------------


def retried(command: str, short: bool) -> tuple[float, float, float]:
    peak, rest = (1, 6) if short else (3, 20)
    with Stage() as stage:
        service = stage.service(2, "20ms")
        nginx = stage.nginx("front", f"""
  loadline_gate api:256k limit=2 retry_after=1-{rest};
  server {{ listen 127.0.0.1:PORT; location / {{ loadline api; proxy_pass http://{service.address}; }} }}""")
        result = stage.load(nginx.url, f"300,20@{peak}s", peak + rest, *command.split("20@3s ")[1].split())
        attempts = per(result["attempts"], result["calls"])
        return attempts, 100 * per(result["good"], result["calls"]), result["per_second"][0]["offered"]


def run_retries(pitfall: Pitfall, short: bool) -> Shown:
    wrong, right = retried(pitfall.wrong, short), retried(pitfall.right, short)
    peak = 1 if short else 3
    return Shown(
        f"A service that can do 100/s; 300/s for {peak} s, then 20/s. Clients that ask up to four times: at once, or after what "
        "`Retry-After` says and a random time on top:",
        [Figure("attempts per call", wrong[0], right[0], digits=2), Figure("attempts in the first second", wrong[2], right[2]),
         Figure("calls served in the end", wrong[1], right[1], "%")],
        [("asked again at once, the load is multiplied", wrong[2] >= 1.5 * right[2]),
         ("for nothing", wrong[1] <= right[1] - 10), ("who waits is served", right[1] >= 80)])


RETRIES = Pitfall(
    "retries", "Clients that try again at once",
    "What was refused comes straight back: with three retries a call costs up to four rejections and is lost all the same, since the "
    "overload lasts longer than they do. Look at how your own client libraries take a 503; many try again at once. Enforce "
    "exponential backoff with jitter, a bound on attempts and a budget for all of them.",
    "loadline load http://127.0.0.1:8080/ --rate 300,20@3s --retries now --attempts 4",
    "loadline load http://127.0.0.1:8080/ --rate 300,20@3s --retries backoff --attempts 4",
    run_retries)

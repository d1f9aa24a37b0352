#!/usr/bin/env python3
"""Shows each pitfall of load shedding both ways, with its figure, on real servers.

  pitfalls.py [NAME...]                the long form, as text
  pitfalls.py --page FILE              writes the page (docs/pitfalls.md)
  pitfalls.py --json FILE              writes the same numbers
  pitfalls.py --short                  a few seconds each: direction and bounds, as a test

Exits with 1 where a figure is not what is claimed of it.
"""

import argparse
import concurrent.futures
import datetime
import json
import os
import pathlib
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import time

from clients import BLAME, RETRIES, STATUS, STORM
from cost import AUTHENTICATION, LOGGING
from limits import PER_INSTANCE, POOLS, QUEUE, RATE, SCALING
from pitfall import Pitfall
from readiness import LIVENESS, READINESS
from stage import NGINX, Figure, Shown, Stage

# In the order of the page: what takes a service down first.
PITFALLS = [READINESS, LIVENESS, QUEUE, RATE, AUTHENTICATION, LOGGING, STATUS, BLAME, STORM, RETRIES, POOLS, PER_INSTANCE,
            SCALING]

ELSEWHERE = """## Shown elsewhere

| pitfall | where |
|---|---|
| a queue without bound; work for callers who have left | [the demo](measurements.md#the-demo): goodput 0 against 100 % of the capacity |
| work that cannot finish by its deadline is begun | [measurements.md](measurements.md#what-it-decides-in-virtual-time), "half have 50 ms, half 1 s"; [the rule](gate.md#the-limit-and-the-queue) |
| first come, first served once the queue stands | [the same](measurements.md#what-it-decides-in-virtual-time), R3; [the rule](gate.md#the-limit-and-the-queue) |
| a threshold that stays while jobs change | the queue's bound and the prediction follow the measured service time; [measurements.md](measurements.md#what-it-decides-in-virtual-time), "service slows to a quarter" |
| all requests are equal: beacons against checkout | [the recipe](recipes.md#users-before-prefetch-and-beacons) |
| a rejection that reads the body, or closes the connection | [nginx.md](nginx.md#what-a-rejection-looks-like); its cost: [measurements.md](measurements.md#the-nginx-module-beside-nginx-and-haproxy) |
| shedding that nobody sees; a limit that is too tight on a normal day | [metrics](nginx.md#metrics-prometheus), [`--observe`](../README.md#which-limit-to-begin-with) |
| a limit that cannot be explained at 3 a.m. | it is fixed, and each rejection has [one reason](nginx.md#reasons) |
| shedding where none is needed | [when you do not need it](../README.md#when-you-do-not-need-it) |
"""


def number(value: float | None, figure: Figure) -> str:
    if value is None:
        return "-"
    text = f"{value:.{figure.digits}f}"
    if not figure.unit:
        return text
    return text + ("" if figure.unit.startswith("/") else " ") + figure.unit


def machine() -> str:
    flags = pathlib.Path("/proc/cpuinfo").read_text()
    kind = "a virtual machine" if " hypervisor" in flags else "a machine"
    kernel = ".".join(platform.release().split(".")[:2])
    version = subprocess.run([NGINX, "-v"], capture_output=True, text=True, check=True).stderr.strip().split("/")[-1]
    return f"{kind} of {os.cpu_count()} cores ({platform.machine()}, Linux {kernel}), nginx {version}, over loopback"


def wrapped(text: str) -> str:
    return textwrap.fill(text, 130, break_long_words=False, break_on_hyphens=False)


def page(shown: list[tuple[Pitfall, Shown]]) -> str:
    lines = [
        "# Pitfalls, both ways",
        "",
        wrapped("What goes wrong with load shedding, with the configuration that is wrong, the one that is right, and what each of them did "
                "to the same service under the same load. Made by `./dev pitfalls`, which runs nginx, `loadline serve` and `loadline load`, "
                "and writes nothing where a figure does not say what is claimed of it; `./dev test pitfalls` runs a short form."),
        "",
        wrapped(f"{datetime.date.today()}, {machine()}. Other work on the machine moves rates by some per cent, and processor times by more."),
        "",
        "| pitfall | figure | wrong | right |",
        "|---|---|---|---|",
    ]
    for pitfall, result in shown:
        figure = result.figures[0]
        lines.append(f"| [{pitfall.title}](#{anchor(pitfall.title)}) | {figure.name} | {number(figure.wrong, figure)} "
                     f"| {number(figure.right, figure)} |")
    for pitfall, result in shown:
        language = "sh" if pitfall.wrong.startswith("loadline load") else "nginx"
        lines += ["", f"## {pitfall.title}", "", wrapped(pitfall.prose), "", "Wrong:", "", f"```{language}", pitfall.wrong, "```", "",
                  "Right:", "", f"```{language}", pitfall.right, "```", "", wrapped(result.setting), "",
                  "| | wrong | right |", "|---|---|---|"]
        lines += [f"| {each.name} | {number(each.wrong, each)} | {number(each.right, each)} |" for each in result.figures]
    return "\n".join(lines) + "\n\n" + ELSEWHERE


def anchor(title: str) -> str:
    """As GitHub makes them."""
    return "".join(each for each in title.lower().replace(" ", "-") if each.isalnum() or each == "-")


def as_json(shown: list[tuple[Pitfall, Shown]]) -> dict:
    return {"date": str(datetime.date.today()), "machine": machine(), "pitfalls": [
        {"name": pitfall.key, "title": pitfall.title, "setting": result.setting,
         "figures": [{"name": each.name, "wrong": each.wrong, "right": each.right, "unit": each.unit}
                     for each in result.figures],
         "claims": [{"claim": claim, "holds": holds} for claim, holds in result.claims]}
        for pitfall, result in shown]}


def timed(pitfall: Pitfall, short: bool) -> tuple[Shown, float]:
    begun = time.monotonic()
    return pitfall.run(pitfall, short), time.monotonic() - begun


def main() -> int:
    parser = argparse.ArgumentParser(description="Shows each pitfall both ways, with its figure.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"only these of {', '.join(p.key for p in PITFALLS)}")
    parser.add_argument("--short", action="store_true", help="a few seconds each, as a test")
    parser.add_argument("--page", metavar="FILE", help="write the page")
    parser.add_argument("--json", metavar="FILE", help="write the same numbers")
    arguments = parser.parse_args()
    unknown = set(arguments.names) - {each.key for each in PITFALLS}
    if unknown:
        parser.error(f"no pitfall {', '.join(sorted(unknown))}")
    if arguments.page and (arguments.names or arguments.short):
        parser.error("the page is of all of them, in the long form")

    Stage.parent = tempfile.mkdtemp(prefix="pitfalls.")
    try:
        for each in (signal.SIGINT, signal.SIGTERM):
            signal.signal(each, lambda *_: leave(Stage.parent))
        return show(arguments)
    finally:
        shutil.rmtree(Stage.parent, ignore_errors=True)


def leave(folder: str) -> None:
    """At once, as threads may be in the middle of a run; what they have started ends with this process."""
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(1)


def show(arguments: argparse.Namespace) -> int:
    chosen = [each for each in PITFALLS if not arguments.names or each.key in arguments.names]
    # Mostly they wait, so the short ones do it together; what goes onto the page has the machine to itself.
    pool = concurrent.futures.ThreadPoolExecutor(4 if arguments.short else 1)
    results = pool.map(lambda each: timed(each, arguments.short), chosen)
    shown, failed = [], 0
    for pitfall, (result, seconds) in zip(chosen, results):
        shown.append((pitfall, result))
        print(f"- {pitfall.title} ({seconds:.0f} s)")
        for figure in result.figures:
            print(f"    {figure.name}: {number(figure.wrong, figure)} | {number(figure.right, figure)}")
        for claim, holds in result.claims:
            if not holds:
                print(f"    FAILED: {claim}")
                failed += 1
        sys.stdout.flush()
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(as_json(shown), indent=1) + "\n")
    # A page whose figures contradict its words is worse than none.
    if arguments.page and not failed:
        pathlib.Path(arguments.page).write_text(page(shown))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

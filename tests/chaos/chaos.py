#!/usr/bin/env python3
"""nginx with everything configured, under a load and under callers that do not behave, while at random workers
are killed, files reloaded, zones resized, the service stopped. See README.md for what must hold throughout.

A run is a row of rounds. Each ends at rest, where what was counted must add up to the last request.
"""

import argparse
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from types import FrameType

from callers import Callers
from events import Events, Wrong, until
from proxy import Counts, Proxy, counts_of, free_port
from service import Service, Watch

ROUND_SECONDS = 15


class Run:
    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.random = random.Random(options.seed)
        self.events = Events()
        self.work = Path(tempfile.mkdtemp(prefix="loadline-chaos-"))
        self.service = Service(self.work, 0)
        self.proxy: Proxy | None = None
        self.callers: Callers | None = None
        self.done: Counter[str] = Counter()
        self.log_read = 0
        self.end = time.monotonic() + options.seconds
        self.next_line = time.monotonic() + 10
        self.first_usage: dict[str, int] = {}
        self.lost = 0
        self.offered = 0
        self.unknown_rounds = 0
        self.log_is_unknown = False  # in this round
        self.log_end = 0
        self.accounted: set[int] = set()  # of the killed, those of rounds that have ended

    # ---- Start and end ----------------------------------------------------------------------------

    def start(self) -> None:
        self.service.port = free_port()
        self.service.start()
        self.proxy = Proxy(
            self.work, self.options.nginx, self.options.module, self.service.port, self.random.choice([2, 3]), self.events
        )
        self.proxy.start()
        self.callers = Callers(
            self.work, self.options.command, self.proxy.port, self.proxy.port_h2, self.random.randrange(2**31)
        )
        self.watch = Watch(self.service, self.proxy, self.events)
        self.watch.thread.start()
        self.say(f"{self.proxy.workers} workers, in {self.work}")

    def stop(self) -> None:
        if hasattr(self, "watch"):
            self.watch.ends.set()
        if self.callers is not None:
            self.callers.end()
        if self.proxy is not None:
            self.proxy.stop()
        self.service.kill()

    def say(self, text: str) -> None:
        print(f"chaos: {text}", flush=True)

    def say_progress(self) -> None:
        assert self.proxy is not None
        if time.monotonic() >= self.next_line:
            self.next_line += 10
            self.say(
                f"{self.options.seconds - max(self.end - time.monotonic(), 0):.0f} s: {self.events.count} events, "
                f"{self.offered} offered in ended rounds, most at the service {self.watch.most}, "
                f"{len(self.proxy.killed)} workers killed, {len(self.proxy.earlier)} earlier gates"
            )

    # ---- What happens at random -------------------------------------------------------------------

    def kill_worker(self) -> None:
        victim = self.random.choice(sorted(self.proxy.children()))
        held = self.proxy.kill(victim)
        self.events.note(f"killed worker {victim}, which had {held} connections")

    def kill_two_workers(self) -> None:
        self.kill_worker()
        self.kill_worker()

    def starve_worker(self) -> None:
        pid, seconds = self.random.choice(sorted(self.proxy.current_workers())), self.random.uniform(0.02, 0.4)
        self.events.note(f"stopping worker {pid} for {seconds:.3f} s")
        os.kill(pid, signal.SIGSTOP)
        time.sleep(seconds)
        if pid in self.proxy.children():
            os.kill(pid, signal.SIGCONT)

    def limit_is(self, limit: int) -> None:
        """It alone is in force from now on. What ran when it got smaller has gone on, and must have ended."""
        until(f"no more than {limit} are in flight", lambda: self.proxy.patient_state()["in_flight"] <= limit, 15)
        self.watch.changed(limit)

    def reload_same(self) -> None:
        self.events.note("reloading the same")
        self.watch.changing(self.proxy.limit)  # what was set at run time is replaced
        self.proxy.reload()
        self.limit_is(self.proxy.limit)

    def reload_limit(self) -> None:
        limit = self.random.choice([4, 8, 10, 15, 20])
        self.events.note(f"reloading with the limit {limit}")
        self.watch.changing(limit)
        self.proxy.limit = limit
        self.proxy.reload()
        self.limit_is(limit)

    def reload_queue(self) -> None:
        self.proxy.queue = self.random.choice(["5", "30", "100", "auto"])
        self.events.note(f"reloading with the queue {self.proxy.queue}")
        self.watch.changing(self.proxy.limit)
        self.proxy.reload()
        self.limit_is(self.proxy.limit)

    def resize_zone(self) -> None:
        most = max([*self.watch.in_force, self.proxy.limit])
        self.watch.changing(most + self.proxy.limit)
        self.events.note(f"reloading with another size of the zone; the earlier gate has at most {most:g}")
        self.proxy.resize(int(most))
        self.limit_is(self.proxy.limit)

    def set_limit(self) -> None:
        limit = self.random.choice([3, 7, 10, 12, 25])
        self.events.note(f"setting the limit {limit}")
        self.watch.changing(limit)
        self.proxy.control(f"limit={limit}")
        self.limit_is(limit)

    def observe(self) -> None:
        self.events.note("observing for a moment")
        limit = self.proxy.patient_state()["limit"]
        self.watch.changing(float("inf"))
        self.proxy.control("mode=observe")
        time.sleep(self.random.uniform(0.05, 0.3))
        self.proxy.control("mode=on")
        self.limit_is(limit)

    def drain(self) -> None:
        self.events.note("draining for a moment")
        self.proxy.control("draining=on")
        time.sleep(self.random.uniform(0.05, 0.3))
        self.proxy.control("draining=off")

    def service_stands_still(self) -> None:
        seconds = self.random.uniform(0.1, 1.2)
        self.events.note(f"stopping the service for {seconds:.3f} s")
        self.watch.stand_still(seconds)

    def service_restarts(self) -> None:
        seconds = self.random.uniform(0, 0.5)
        self.events.note(f"killing the service, and starting it after {seconds:.3f} s")
        self.watch.restart(seconds)

    def streams_are_reset(self) -> None:
        self.events.note("resetting 400 streams")
        self.callers.reset_streams()

    def kill_and_reload(self) -> None:
        """A death in the middle of a change."""
        self.events.note("killing in a reload")
        self.kill_worker()
        self.reload_limit()
        self.kill_worker()

    def one_event(self) -> None:
        weights = {
            self.kill_worker: 6, self.kill_two_workers: 1, self.starve_worker: 3, self.reload_same: 2, self.reload_limit: 3,
            self.reload_queue: 2, self.resize_zone: 2, self.set_limit: 4, self.observe: 1, self.drain: 2,
            self.service_stands_still: 2, self.service_restarts: 1, self.streams_are_reset: 2, self.kill_and_reload: 1,
        }  # fmt: skip
        event = self.random.choices(list(weights), list(weights.values()))[0]
        if len(self.proxy.children()) > 30:
            return  # a gate has 64 seats, and those who finish keep theirs
        event()
        self.done[event.__name__] += 1

    # ---- What must hold ----------------------------------------------------------------------------

    def check(self) -> None:
        self.watch.check()
        self.proxy.check_error_log()

    def at_rest(self) -> bool:
        state = self.proxy.patient_state()
        return bool(state["in_flight"] == 0 and state["waiting"] == 0 and state["exempt"]["in_flight"] == 0)

    def last_words(self) -> Counts:
        """Of the gates that only workers of earlier generations know."""
        sum_of_all = Counts()
        for earlier in self.proxy.earlier:
            said = None
            for asking in earlier.asking:
                try:
                    gate = asking.finish()
                    if gate["in_flight"] == 0 and gate["waiting"] == 0:
                        said = gate
                    else:
                        time.sleep(0.3)
                except (OSError, ValueError):
                    pass  # its worker was killed
            for asking in earlier.asking:
                asking.close()
            if said is not None:
                sum_of_all += counts_of(said) - earlier.base
            elif any(pid in self.proxy.killed for pid in earlier.workers):
                self.unknown_rounds += 1
                self.log_is_unknown = True
            else:
                raise Wrong("an earlier gate is not at rest, or has not answered")
        return sum_of_all

    def logged(self) -> Counts:
        """What nginx has logged since the last rest. Only of the gate `api`, which is asked last."""
        lines: Counter[str] = Counter()
        with (self.work / "chaos.log").open("rb") as log:
            log.seek(self.log_read)
            for line in log:
                gate, status, _ = line.decode(errors="replace").split(" ", 2)
                if gate == "api":
                    lines[status] += 1
            self.log_end = log.tell()
        if lines["FAILED_OPEN"]:
            raise Wrong(f"{lines['FAILED_OPEN']} requests passed ungated")
        admitted = lines["ADMITTED"] + lines["WAITED"] + lines["OBSERVED"]
        return Counts(admitted, lines["REJECTED"], lines["CANCELLED"])

    def settle(self) -> None:
        """Load stops; nothing may be left, and the counts must add up."""
        proxy = self.proxy
        assert proxy is not None and self.callers is not None
        self.callers.end()
        self.events.note("the load has ended")
        until("nothing is in flight, 10 s after the load has ended", self.at_rest)
        held_open = sum(len(earlier.asking) for earlier in proxy.earlier)
        until("nginx has ended all connections", lambda: proxy.connected() <= held_open, 20)
        self.log_is_unknown = False
        counted = self.last_words()
        until("the earlier workers are gone", lambda: len(proxy.children()) == proxy.workers, 20)
        state = proxy.patient_state()
        counted += counts_of(state) - proxy.base
        logged = self.logged()
        missing = counted - logged
        may_be_lost = sum(held for pid, held in proxy.killed.items() if pid not in self.accounted)
        self.accounted = set(proxy.killed)
        if not self.log_is_unknown:
            if min(missing.admitted, missing.rejected, missing.cancelled) < 0 or missing.all > may_be_lost:
                raise Wrong(f"the gate has counted {counted}, nginx has logged {logged}; {may_be_lost} may be lost")
            self.lost += missing.all
        self.offered += counted.all
        if state["corruptions"] or state["streams"]["open"]:
            raise Wrong(f"at rest the status says: {state}")
        self.watch.look()
        proxy.base = counts_of(state)
        proxy.earlier.clear()
        self.log_read = self.log_end
        self.events.note(f"at rest: {counted}, not logged {missing.all} of at most {may_be_lost}")
        self.check_usage()

    def check_usage(self) -> None:
        usage = self.proxy.usage()
        self.events.note(f"usage {usage}")
        self.first_usage = self.first_usage or usage
        grown = {name: value - self.first_usage[name] for name, value in usage.items()}
        bounds = {"master_kib": 20_000, "master_files": 20, "worker_kib": 60_000, "worker_files": 60}
        if any(grown[name] > bound for name, bound in bounds.items()):
            raise Wrong(f"it has grown since the first rest: {grown}, allowed are {bounds}")

    # ---- The row of rounds ---------------------------------------------------------------------------

    def round(self) -> None:
        assert self.proxy is not None and self.callers is not None
        self.callers.begin()
        end = min(time.monotonic() + ROUND_SECONDS, self.end)
        while time.monotonic() < end:
            time.sleep(self.random.uniform(0.05, 0.6))
            self.one_event()
            self.check()
            self.say_progress()
        self.settle()
        self.check()

    def all_rounds(self) -> None:
        self.start()
        while time.monotonic() < self.end:
            self.round()
        if self.watch.reached == 0:
            raise Wrong("the limit was never reached, so nothing was tested")
        self.say(f"what was done: {dict(self.done.most_common())}")
        self.say(
            f"well after {time.monotonic() - self.events.begun:.0f} s: {self.offered} offered, each accounted for "
            f"({self.lost} lost to {len(self.proxy.killed)} deaths); the limit was reached in {self.watch.reached} of "
            f"{self.watch.windows} windows and never exceeded; usage {self.proxy.usage()}"
        )
        if self.unknown_rounds:
            self.say(f"gates whose last word died with their workers: {self.unknown_rounds}")


def interrupted(number: int, _: FrameType | None) -> None:
    raise KeyboardInterrupt(signal.Signals(number).name)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--seed", type=int, default=None, help="repeats what a run has done; without, a new one")
    parser.add_argument("--command", required=True, help="the loadline command")
    parser.add_argument("--module", required=True, help="ngx_http_loadline_module.so")
    parser.add_argument("--nginx", default=shutil.which("nginx") or "/usr/sbin/nginx")
    options = parser.parse_args()
    if options.seed is None:
        options.seed = random.SystemRandom().randrange(1_000_000)
    signal.signal(signal.SIGTERM, interrupted)
    signal.signal(signal.SIGINT, interrupted)
    print(f"chaos: {options.seconds} s, --seed {options.seed}", flush=True)
    run = Run(options)
    keep, status = False, 0
    try:
        run.all_rounds()
    except Wrong as wrong:
        keep, status = True, 1
        print(f"chaos: FAILED with --seed {options.seed}: {wrong}", flush=True)
    except KeyboardInterrupt:
        status = 130
        print("chaos: interrupted", flush=True)
    finally:
        # A second signal must not leave processes behind.
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        run.stop()
    if keep:
        print("\n".join(["chaos: the last events:", *run.events.last]))
        print(f"chaos: what is left is in {run.work}", flush=True)
    else:
        shutil.rmtree(run.work, ignore_errors=True)
    return status


if __name__ == "__main__":
    sys.exit(main())

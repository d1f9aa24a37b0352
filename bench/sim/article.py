#!/usr/bin/env python3
"""The articles' scenario as a Python program, to be timed beside `loadline sim`.

One worker of 10 ms, 120 requests a second at random for 60 s, callers who wait a second. In front of the worker a limit
of one, first come, first served.

  article.py gate N     by events: callers, a gate that lets nobody wait for more than 100 ms and refuses on arrival who
                        would have to by the service times it has measured, a worker, a record of each request
  article.py bounded N  the same with a gate that only counts who waits, 50 of them
  article.py loop N     the loop that the article prints: one worker, 50 places, no events and no records

Each is run N times over. Prints one line of JSON: processor seconds, requests, useful, rejected.
"""

import collections
import heapq
import json
import random
import sys
import time

SECONDS, RATE, SERVICE, TIMEOUT, MAX_QUEUE = 60, 120, 0.010, 1.0, 50
BUDGET, BELIEVED_FROM = 0.100, 20


class Request:
    __slots__ = ("number", "offered", "deadline", "started", "ended", "fate")

    def __init__(self, number: int, offered: float):
        self.number = number
        self.offered = offered
        self.deadline = offered + TIMEOUT
        self.started = self.ended = None
        self.fate = "open"


class Simulation:
    """With the gate that only counts."""

    def __init__(self):
        self.random = random.Random(1)
        self.now = 0.0
        self.events = []
        self.sequence = 0
        self.in_flight, self.limit = 0, 1
        self.waiting = collections.deque()
        self.journal = []
        self.number = 0

    def at(self, when: float, call, argument=None) -> None:
        heapq.heappush(self.events, (when, self.sequence, call, argument))
        self.sequence += 1

    def run(self) -> list[Request]:
        self.at(self.random.expovariate(RATE), self.arrive)
        while self.events:
            self.now, _, call, argument = heapq.heappop(self.events)
            call(argument)
        return self.journal

    def arrive(self, _) -> None:
        request = Request(self.number, self.now)
        self.number += 1
        if self.in_flight < self.limit:
            self.begin(request)
        elif len(self.waiting) < MAX_QUEUE:
            self.waiting.append(request)
        else:
            self.end(request, "rejected")
        if self.now < SECONDS:
            self.at(self.now + self.random.expovariate(RATE), self.arrive)

    def begin(self, request: Request) -> None:
        self.in_flight += 1
        request.started = self.now
        self.at(self.now + SERVICE, self.finish, request)

    def finish(self, request: Request) -> None:
        self.in_flight -= 1
        self.end(request, "useful" if self.now <= request.deadline else "wasted")
        self.dispatch()

    def dispatch(self) -> None:
        if self.waiting and self.in_flight < self.limit:
            self.begin(self.waiting.popleft())

    def end(self, request: Request, fate: str) -> None:
        request.ended = self.now
        request.fate = fate
        self.journal.append(request)


class WithBudget(Simulation):
    """With the gate that bounds the wait, and predicts it."""

    def __init__(self):
        super().__init__()
        self.finished, self.service_time = 0, 0.0
        self.still_waiting = 0

    def arrive(self, _) -> None:
        request = Request(self.number, self.now)
        self.number += 1
        if self.in_flight < self.limit:
            self.begin(request)
        elif self.expected_wait() > BUDGET + 1e-9:  # ten times 10 ms is no more than 100 ms
            self.end(request, "rejected")
        else:
            request.fate = "waiting"
            self.waiting.append(request)
            self.still_waiting += 1
            self.at(self.now + BUDGET, self.expire, request)
        if self.now < SECONDS:
            self.at(self.now + self.random.expovariate(RATE), self.arrive)

    def expected_wait(self) -> float:
        if self.finished < BELIEVED_FROM:
            return 0.0
        return (self.still_waiting + 1) * self.service_time / self.finished / self.limit

    def finish(self, request: Request) -> None:
        self.finished += 1
        self.service_time += self.now - request.started
        super().finish(request)

    def dispatch(self) -> None:
        while self.waiting and self.in_flight < self.limit:
            request = self.waiting.popleft()
            if request.fate == "waiting":
                self.still_waiting -= 1
                request.fate = "begun"
                self.begin(request)

    def expire(self, request: Request) -> None:
        if request.fate == "waiting":
            self.still_waiting -= 1
            self.end(request, "expired")


def by_events(simulation: type[Simulation]) -> tuple[int, int, int]:
    journal = simulation().run()
    counts = collections.Counter(request.fate for request in journal)
    times = sorted(request.ended - request.offered for request in journal if request.fate == "useful")
    assert times[len(times) // 2] <= times[len(times) * 99 // 100]  # the percentiles that a table shows
    return len(journal), counts["useful"], counts["rejected"]


def by_loop() -> tuple[int, int, int]:
    draws = random.Random(1)
    when, arrivals = 0.0, []
    while when < SECONDS:
        when += draws.expovariate(RATE)
        arrivals.append(when)
    waiting, free_at, useful, rejected = collections.deque(), 0.0, 0, 0
    for arrival in [*arrivals, float("inf")]:
        while waiting and free_at <= arrival:
            came = waiting.popleft()
            free_at = max(free_at, came) + SERVICE
            useful += free_at - came <= TIMEOUT
        if arrival == float("inf"):
            break
        if len(waiting) >= MAX_QUEUE:
            rejected += 1
        else:
            waiting.append(arrival)
    return len(arrivals), useful, rejected


def main() -> int:
    ways = {"gate": lambda: by_events(WithBudget), "bounded": lambda: by_events(Simulation), "loop": by_loop}
    if len(sys.argv) != 3 or sys.argv[1] not in ways or not sys.argv[2].isdigit():
        print(__doc__, file=sys.stderr)
        return 2
    begun = time.process_time()
    for _ in range(int(sys.argv[2])):
        requests, useful, rejected = ways[sys.argv[1]]()
    print(json.dumps({"seconds": time.process_time() - begun, "requests": requests * int(sys.argv[2]),
                      "useful": useful, "rejected": rejected}))
    return 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Kills a worker of nginx with SIGKILL while it holds some of the permits and others wait in another.

Which worker a connection belongs to is asked first (/who answers with its pid), on connections that stay.
Then `--held` requests run in the victim and the rest of the limit in the others, and `--waiting` wait in the others.
A victim with much memory (`--ballast`) takes long to die: the kernel frees it after the locks were given up and
before the connections are closed. Prints after how many milliseconds the waiting had their answers, counted from the kill, and what the
system saw of connections to the service meanwhile.
"""

import argparse
import asyncio
import json
import os
import signal
import subprocess
import time
from collections import defaultdict

from wire import percentile, raise_file_limit, report, status_of

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def answer(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    head = await reader.readuntil(b"\r\n\r\n")
    length = 0
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    return status_of(head), await reader.readexactly(length)


async def send(streams: Streams, path: str) -> None:
    streams[1].write(f"GET {path} HTTP/1.1\r\nHost: a\r\n\r\n".encode())
    await streams[1].drain()


async def connections(port: int, victim_needs: int, others_need: int) -> tuple[int, list[Streams], list[Streams]]:
    """The pid of the victim, and connections to it and to others."""
    by_pid: dict[int, list[Streams]] = defaultdict(list)
    while True:
        for _ in range(20):
            streams = await asyncio.open_connection("127.0.0.1", port)
            await send(streams, "/who")
            by_pid[int((await answer(streams[0]))[1])].append(streams)
        for pid, mine in by_pid.items():
            others = [each for other, all_of_it in by_pid.items() if other != pid for each in all_of_it]
            if len(mine) >= victim_needs and len(others) >= others_need:
                return pid, mine[:victim_needs], others[:others_need]
        if sum(map(len, by_pid.values())) > 50 * (victim_needs + others_need):
            raise SystemExit("the connections do not spread over the workers")


def open_to_service(port: int) -> int:
    """Established, as the system has it: from nginx's side, that is with the service's as the peer."""
    out = subprocess.run(
        ["ss", "-Htn", "state", "established", f"dport = :{port}"], check=True, capture_output=True, text=True
    )
    return len(out.stdout.splitlines())


async def sample(port: int, seen: list[int], done: asyncio.Event) -> None:
    while not done.is_set():
        seen.append(await asyncio.to_thread(open_to_service, port))


async def state_of(port: int) -> dict[str, int]:
    streams = await asyncio.open_connection("127.0.0.1", port)
    await send(streams, "/status")
    _, body = await answer(streams[0])
    streams[1].close()
    gate: dict[str, int] = json.loads(body)["gates"][0]
    return gate


async def until(port: int, name: str, value: int) -> float:
    begun = time.monotonic()
    while (await state_of(port))[name] != value:
        if time.monotonic() - begun > 10:
            raise SystemExit(f"waited in vain for {name} = {value}")
    return time.monotonic()


async def load_with_ballast(streams: Streams, pid: int, size: int) -> None:
    """Has a worker keep a body of which the end does not come."""
    streams[1].write(f"POST /ballast HTTP/1.1\r\nHost: a\r\nContent-Length: {size + 1}\r\n\r\n".encode())
    for _ in range(size // 2**20):
        streams[1].write(b"x" * 2**20)
        await streams[1].drain()
    while resident(pid) < size:
        await asyncio.sleep(0.05)


def resident(pid: int) -> int:
    with open(f"/proc/{pid}/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


async def run(options: argparse.Namespace) -> None:
    rest = options.limit - options.held
    victim, mine, others = await connections(options.port, options.held + 1, rest + options.waiting)
    ballast = mine.pop()
    if options.ballast > 0:
        await load_with_ballast(ballast, victim, options.ballast * 2**20)
    running, waiting = others[:rest], others[rest:]
    for streams in mine + running:
        await send(streams, f"/?ms={options.ms}")
    await until(options.port, "in_flight", options.limit)
    for streams in waiting:
        await send(streams, f"/?ms={options.ms}")
    await until(options.port, "waiting", options.waiting)
    seen: list[int] = []
    done = asyncio.Event()
    sampling = asyncio.create_task(sample(options.service_port, seen, done))
    while not seen:
        await asyncio.sleep(0.01)
    killed = time.monotonic()
    os.kill(victim, signal.SIGKILL)
    back = await until(options.port, "waiting", options.waiting - min(options.held, options.waiting))
    after = await state_of(options.port)
    answers = [await answer(streams[0]) for streams in waiting]
    done.set()
    await sampling
    report(
        {
            "victim": victim,
            "back_after_ms": (back - killed) * 1000,
            "in_flight_then": after["in_flight"],
            "reclaimed_units": after["reclaimed_units"],
            "waiting_served": sum(status == 200 for status, _ in answers),
            "samples": len(seen),
            "connections_most": max(seen),
            "connections_p50": percentile(seen, 0.5),
        }
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("port", type=int)
    parser.add_argument("service_port", type=int)
    parser.add_argument("--limit", type=int, default=100)
    parser.add_argument("--held", type=int, default=25)
    parser.add_argument("--waiting", type=int, default=25)
    parser.add_argument("--ms", type=int, default=3000, help="how long a request takes")
    parser.add_argument("--ballast", type=int, default=0, help="MiB of memory of the victim")
    options = parser.parse_args()
    raise_file_limit()
    asyncio.run(run(options))


if __name__ == "__main__":
    main()

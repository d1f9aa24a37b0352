"""What happened, and the end that a run takes when something is not as it should be."""

import time
from collections import deque
from collections.abc import Callable


class Wrong(Exception):
    """Something that must not be was seen."""


class Events:
    """The last of what was done, with times, to be read when something has gone wrong."""

    def __init__(self) -> None:
        self.begun = time.monotonic()
        self.last: deque[str] = deque(maxlen=50)
        self.count = 0

    def note(self, text: str) -> None:
        self.count += 1
        self.last.append(f"{time.monotonic() - self.begun:8.3f} {text}")


def until(what: str, condition: Callable[[], bool], seconds: float = 10, pause: float = 0.02) -> None:
    """Waits for a condition, with a bound."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise Wrong(f"waited {seconds:g} s in vain until {what}")
        time.sleep(pause)

"""What one pitfall is: words, the two configurations, and a run that shows both."""

import dataclasses
from collections.abc import Callable

from stage import Shown


@dataclasses.dataclass
class Pitfall:
    key: str
    title: str
    prose: str
    wrong: str  # configuration: what is run is what the page shows
    right: str
    run: Callable[["Pitfall", bool], Shown]  # True: the short form


def per(count: float, base: float) -> float:
    """A ratio that is 0 where there was nothing to divide by, as in a run that served nobody."""
    return count / base if base else 0.0

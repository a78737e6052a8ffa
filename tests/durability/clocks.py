"""A clock that is set again and again, by hours and by years."""

from __future__ import annotations

import sys
import time
from datetime import datetime, timedelta
from itertools import cycle
from typing import Any

#: By how much it is wrong, from one look to the next; a machine without a battery begins in 1970.
WRONG = (0.0, 3600.0, -3 * 3600.0, 40 * 365.25 * 86_400, -56 * 365.25 * 86_400)


def jumping() -> None:
    """Have what is loaded of bedside, and every library that asks for seconds, look at such a clock."""
    by, right = cycle(WRONG), time.time

    class Clock(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return datetime.now(tz) + timedelta(seconds=next(by))

    time.time = lambda: right() + next(by)
    for name, module in list(sys.modules.items()):
        if name.startswith("bedside.") and vars(module).get("datetime") is datetime:
            vars(module)["datetime"] = Clock

"""A clock that somebody, or a time server, sets again and again."""

from __future__ import annotations

import datetime
import sys
import time
from itertools import cycle
from typing import Any

HOUR, YEAR = 3600.0, 365.25 * 86_400
#: By how much the clock is wrong, from one look at it to the next; machines without a battery begin in 1970.
WRONG = (0.0, HOUR, -3 * HOUR, 40 * YEAR, -56 * YEAR)


class _Kind(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, _datetime)


_time, _datetime = time.time, datetime.datetime


def jumping() -> None:
    """Have the clock of this process jump each time that it is looked at; what passes goes on as it does."""
    by = cycle(WRONG)

    class Clock(datetime.datetime, metaclass=_Kind):
        __get_pydantic_core_schema__ = classmethod(lambda cls, source, handler: handler(_datetime))

        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return _datetime.now(tz) + datetime.timedelta(seconds=next(by))

    time.time = lambda: _time() + next(by)
    for module in (datetime, *sys.modules.values()):
        if getattr(module, "__name__", "").partition(".")[0] in ("bedside", "datetime"):
            for name, value in list(vars(module).items()):
                if value is _datetime:
                    setattr(module, name, Clock)

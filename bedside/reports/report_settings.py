"""What is the same for all tables and figures of a report."""

from __future__ import annotations

from dataclasses import dataclass

from bedside.core.errors import DataError, one_of
from bedside.reports.table_kind import Options

#: What can stand beside a mean.
SPREADS = ("sd", "ci", "none")
#: When the best is bold.
BESTS = ("interval", "always", "never")


@dataclass(frozen=True, slots=True)
class ReportSettings:
    """What is the same for all tables and figures of a report; None leaves it to the suite.

    Attributes:
        against: the system that others are tested against, and whose means figures by system show across.
        spread: beside a mean ``sd``, ``ci`` or ``none``.
        best: bold by ``interval``, ``always`` or ``never``.
        seed: of what is drawn at random.
        as_published: the tables and figures of the suites' sources in place of the suites' own.
        published_numbers: beside each number the one that the source printed.
        main: metrics of the page's first figure; empty leaves it to the suites.
    """

    against: str | None = None
    spread: str | None = None
    best: str | None = None
    seed: int = 0
    as_published: bool = False
    published_numbers: bool = False
    main: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Raise DataError where a choice is unknown."""
        for name, value, choices in (("spread", self.spread, SPREADS), ("best", self.best, BESTS)):
            if value is not None:
                one_of(value, choices, "choice", DataError, where=f"`{name}`")

    def applied(self, options: Options) -> Options:
        """The options with what is set here in place of theirs, where they have it."""
        settings = {"against": self.against, "spread": self.spread, "best": self.best}
        fields = type(options).model_fields
        return options.model_copy(
            update={name: value for name, value in settings.items() if value is not None and name in fields}
        )

"""What a kind of table states about itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict

from bedside.analysis.ratings_view import RatingsView
from bedside.core.registry import Registry
from bedside.ratings.suites.suite import Definition
from bedside.reports.table import Table

#: Several names, of which one may stand alone.
Several = Annotated[tuple[str, ...], BeforeValidator(lambda names: (names,) if isinstance(names, str) else names)]


class Options(BaseModel):
    """What a suite can say of a table or figure of some kind; kinds that have options add their own.

    Attributes:
        id: name of the table: of its files, and to ask for it.
        title: its caption; the kind's own unless given.
        where: levels of factors, by factor: only transcripts that have them are looked at; it is left out, with that
            as the reason, where no transcript has the factor.
        notes: what is said below it besides, such as how it differs from a paper's.
        paper: which table or figure of the suite's source it is after.
        definition: which definition its numbers follow, but for measures that say it themselves.
        departures: the tables below which it is said how rubrics depart from the source's; this one unless given.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", frozen=True)

    id: str | None = None
    title: str | None = None
    where: Mapping[str, Several] = {}
    notes: tuple[str, ...] = ()
    paper: str | None = None
    definition: Definition | None = None
    departures: tuple[str, ...] = ()

    def finish(self, table: Table, notes: Iterable[str] = ()) -> Table:
        """A table under the name and title that are set here, with further notes below it."""
        return replace(table, name=self.id or table.name, title=self.title or table.title, notes=(*table.notes, *notes))


@dataclass(frozen=True, slots=True)
class TableKind:
    """One kind of table.

    Attributes:
        name: equal to the file's name.
        title: what it shows, in a few words.
        order: position in a report.
        build: the table of a view's ratings, its random draws from a seed; None where the ratings have nothing for
            it. Where the kind has ``options``, they are the third argument.
        options: what a suite can say of such a table.
        heading: of its part of a report; the title unless given.
        shown: where a report has it: as the first; always, below what suites show; alone, where no suite shows
            anything; or as a suite names it.
        beside_published: whether it stands below the tables of a suite's source, too.
        averages: whether its numbers average over transcripts, and so what they average over is noted.
    """

    name: str
    title: str
    order: int
    build: Callable[..., Table | None]
    options: type[Options] | None = None
    heading: str = ""
    shown: Literal["first", "always", "alone", "named"] = "alone"
    beside_published: bool = False
    averages: bool = True

    @property
    def general(self) -> bool:
        """Whether reports have it without a suite that names it."""
        return self.shown != "named"

    def make(self, view: RatingsView, seed: int = 0, options: Options | None = None) -> Table | None:
        """The table, as the options say."""
        if self.options is None:
            return self.build(view, seed)
        return self.build(view, seed, options or self.options())


TABLES: Registry[TableKind] = Registry("bedside.reports.tables", "TABLE", "table", TableKind, group="bedside.tables")


def averages(table: Table) -> bool:
    """Whether a table's numbers average over transcripts, as its kind says; true of what is of no kind."""
    return table.name not in TABLES or TABLES.load(table.name).averages

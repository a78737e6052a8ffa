"""The form of a suite file, and the registry of suites."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator

from bedside.core.errors import RegistryError
from bedside.core.model_errors import to_model
from bedside.core.registry import DataRegistry
from bedside.core.yaml_files import keys_and_values


def _labelled(names: Any) -> Any:
    """Names with their labels, in order, where they may come as a bare list."""
    if isinstance(names, list | tuple):
        words = [str(name) for name in names]
        doubled = next((word for word in words if words.count(word) > 1), None)
        if doubled is not None:
            raise ValueError(f"{doubled!r} is listed twice")
        return {word: word for word in words}
    return names


#: Names in the order of tables, each with its label in print; a bare list where names are printed as they are.
Labelled = Annotated[
    Mapping[str, str], BeforeValidator(_labelled, json_schema_input_type=Mapping[str, str] | list[str | float])
]


#: What a number of a source's table follows where the two part: its text, its authors' program, or a reading of ours.
Definition = Literal["paper", "authors' code", "ours"]


class Entry(BaseModel):
    """A table or figure of a suite; further keys are options of its kind (`bedside.reports`).

    Attributes:
        id: its name: of its files, and to ask for it alone.
        kind: what kind of table or figure it is.
        title: its caption; the kind's own unless given.
        paper: which table or figure of the source it is after, such as ``Table 2``.
        definition: which definition its numbers follow, but for measures that say it themselves.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="allow", frozen=True)

    id: str = Field(pattern="^[a-z0-9][a-z0-9-]*$")
    kind: str
    title: str | None = None
    paper: str | None = None
    definition: Definition | None = None

    def options(self) -> dict[str, Any]:
        """What the kind is given."""
        return {**self.model_dump(include={"id", "title", "paper", "definition"}), **(self.model_extra or {})}


def _named_once(entries: tuple[Entry, ...]) -> tuple[Entry, ...]:
    names = [entry.id for entry in entries]
    doubled = next((name for name in names if names.count(name) > 1), None)
    if doubled is not None:
        raise ValueError(f"two are called {doubled!r}")
    return entries


class AsPublished(BaseModel):
    """The tables and figures of the source itself: its rows, columns, order, digits and marks.

    Attributes:
        tables, figures: in the order of the source.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", frozen=True)

    tables: tuple[Entry, ...] = ()
    figures: tuple[Entry, ...] = ()

    @field_validator("tables", "figures")
    @classmethod
    def _once(cls, entries: tuple[Entry, ...]) -> tuple[Entry, ...]:
        return _named_once(entries)


class Suite(BaseModel):
    """A named set of metrics with their parameters, of rubrics for a judge, and of what a report shows of them.

    Attributes:
        name: equal to the file's name.
        title: what the suite is, in a few words.
        description: what it scores and for whom.
        source: citation of the protocol.
        metrics: names of metric families (all their metrics) and of single metrics, in the order of the tables.
        parameters: parameters of families that differ from their defaults, by family and name.
        rubrics: names of rubrics, and files of one's own from the suite's folder on, in the order of the tables; they
            are scored where a judge is given.
        main: of the measures that its tables of results show, those that a leaderboard shows; the first orders it.
            Unless named, they are those of the first of these tables that have a better direction.
        success: of main measures, the value from which on a conversation counts as a success, or up to which, where
            lower is better: pass^k rests on it.
        failed: what a simulated conversation that the clinician failed is rated with, by metric and rubric: the worst
            value, or the name of what the reference lists, for how many there are. What isn't named is missing there,
            or as it is computed.
        systems: systems in the order in which they are shown and compared, each with its label in print. Those of the
            data that aren't listed come after them.
        levels: the same for the levels of factors, by factor, and for the labels of codes such as ``stage``.
        tables: the tables of a report, in order.
        figures: its figures, in order.
        as_published: the tables and figures of the source, for ``bedside report --as-published``.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", frozen=True)

    name: str
    title: str
    description: str
    source: str
    metrics: tuple[str, ...] = Field(min_length=1)
    parameters: dict[str, dict[str, Any]] = {}
    rubrics: tuple[str, ...] = ()
    main: tuple[str, ...] = ()
    success: Mapping[str, float] = {}
    failed: Mapping[str, float | str] = {}
    systems: Labelled = {}
    levels: Mapping[str, Labelled] = {}
    tables: tuple[Entry, ...] = ()
    figures: tuple[Entry, ...] = ()
    as_published: AsPublished = AsPublished()

    @field_validator("tables", "figures")
    @classmethod
    def _once(cls, entries: tuple[Entry, ...]) -> tuple[Entry, ...]:
        return _named_once(entries)

    def printed(self) -> Suite:
        """The suite with the tables and figures of its source in place of its own."""
        return self.model_copy(update={"tables": self.as_published.tables, "figures": self.as_published.figures})


def parse_suite(path: Path) -> Suite:
    """Read a suite file.

    Raises:
        RegistryError: it can't be read, isn't plain YAML, or has an unknown, missing or wrong key, which is named.
    """
    data = keys_and_values(path, "suite file", "bedside list suites", aliases=True)
    suite = to_model(data, Suite, str(path), todo="mend this key", kind=RegistryError)
    if suite.name != path.stem:
        raise RegistryError(
            f"the suite calls itself {suite.name!r}", where=str(path), todo="name the file after the suite"
        )
    # A rubric's file stands beside its suite, wherever the command is given.
    rubrics = [str(path.parent / name) if name.endswith((".yaml", ".yml")) else name for name in suite.rubrics]
    return suite.model_copy(update={"rubrics": tuple(rubrics)})


SUITES: DataRegistry[Suite] = DataRegistry(
    "bedside.ratings.suites.shipped", ".yaml", "suite", Suite, parse_suite, group="bedside.suites"
)

"""The rubrics that ratings are by, and what they ask otherwise than their sources."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from bedside.analysis.ratings_view import PEOPLE, RatingsView
from bedside.judges.rubrics.description import tuning_words
from bedside.judges.rubrics.rubric import Rubric
from bedside.judges.rubrics.rubric_files import RUBRICS
from bedside.ratings.names import is_human
from bedside.reports.columns import Column, Table, recorded, table_of
from bedside.reports.notes import Note, note
from bedside.reports.number_text import DASH, rater_words
from bedside.reports.table_kind import TableKind

# -- The rubrics that ratings are by, with the wordings that judges were asked by -----------------------


@dataclass(frozen=True, slots=True)
class RatedRubric:
    """A rubric that something is rated by.

    Attributes:
        rubric: as it is known now: of the user's own, as the run keeps it.
        raters: who rated by it, people together.
        versions: of the wordings that judges were asked by, as the run says; none where only people rated by it.
        tuned: those of them that are tuned or in another language, as the run keeps them.
    """

    rubric: Rubric
    raters: tuple[str, ...]
    versions: tuple[str, ...]
    tuned: tuple[Rubric, ...] = ()

    @property
    def reworded(self) -> bool:
        """Whether a judge was asked by another wording than the known one, of whose deviations nothing is known."""
        known = {self.rubric.version, *(rubric.version for rubric in self.tuned)}
        return any(version not in known for version in self.versions)


def rated_rubrics(view: RatingsView) -> tuple[RatedRubric, ...]:
    """The rubrics of a view's ratings, in the order of tables."""
    raters: dict[str, dict[str, None]] = {}
    pairs = view.ratings.select("metric", "rater").unique(maintain_order=True).sort("metric", "rater")
    raters_by_metric: dict[str, list[str]] = {}
    for metric, rater in pairs.iter_rows():
        raters_by_metric.setdefault(metric, []).append(rater)
    for metric in (*view.metrics(), *(f"{name}.audited" for name in view.audited_rubrics())):
        name = metric.partition(".")[0]
        if not view.facts(metric).defined and known_rubric(view, name) is not None:
            raters.setdefault(name, {}).update(dict.fromkeys(raters_by_metric.get(metric, ())))
    versions = _versions(view)
    rubrics = []
    for name, names in raters.items():
        rubric = known_rubric(view, name)
        assert rubric is not None
        asked = dict.fromkeys(version for rater in names for version in versions.get((rater, name), ()))
        tuned = [view.rubrics[key] for version in asked if (key := f"{name}@{version}") in view.rubrics]
        rubrics.append(RatedRubric(rubric, tuple(_in_words(names)), tuple(asked), tuple(tuned)))
    return tuple(rubrics)


def known_rubric(view: RatingsView, name: str) -> Rubric | None:
    """The rubric of this name, the user's own that the run was judged by among them."""
    return view.rubrics.get(name) or (RUBRICS.load(name) if name in RUBRICS else None)


def _versions(view: RatingsView) -> dict[tuple[str, str], list[str]]:
    """The wordings by which each judge was asked, by judge and rubric, as the run's manifest has them."""
    versions: dict[tuple[str, str], list[str]] = {}
    for entry in [] if view.run is None else view.run.manifest["scorings"]:
        for rater, judge in entry.get("judges", {}).items():
            for name, version in judge["prompts"].items():
                versions.setdefault((rater, name), []).append(version)
    return versions


def _in_words(raters: Iterable[str]) -> Iterable[str]:
    return dict.fromkeys(PEOPLE if is_human(rater) else rater_words(rater) for rater in raters)


# -- The table ------------------------------------------------------------------------------------------

_TITLE = "Rubrics, and how many deviations from their sources they declare"
COLUMNS = (
    recorded(rubric="rubric.name", version="rubric.version"),
    Column("Rubric", "left", value="rubric.title"),
    Column("Version", "left", field="asked", value=lambda rated: list(rated.versions),
           form=lambda versions: ", ".join(versions) or DASH),
    Column("Rated by", "left", field="raters", value=lambda rated: list(rated.raters), form=", ".join),
    recorded(source="rubric.source"),
    Column("Deviations", field="deviations", value=lambda rated: list(rated.rubric.deviations),
           text=lambda rated: "not known" if rated.reworded else str(len(rated.rubric.deviations))),
    recorded(
        tuned=lambda rated: [rubric.version for rubric in rated.tuned if rubric.tuned],
        translated=lambda rated: {
            rubric.version: rubric.language for rubric in rated.tuned if rubric.translated_from
        },
    ),
)  # fmt: skip
MEANING = Note(
    "rubrics.meaning",
    "Version: of the wording that judges were asked by. Deviations: what the rubric asks otherwise than its "
    "source, as it says itself.",
)


@note("rubrics.versions", "Version")
def versions(rubrics: Sequence[RatedRubric]) -> Iterator[str]:
    """By which wordings ratings were made."""
    if any(not rated.versions for rated in rubrics):
        yield (
            f"Where there is no version ({DASH}), the ratings don't say by which wording they were made: the rubric "
            "is taken by its name."
        )
    for rated in rubrics:
        for tuned in rated.tuned:
            if tuned.translated_from:
                yield (
                    f"{rated.rubric.title} {tuned.version} is {tuned.translated_from} in {tuned.words.language}: "
                    "another wording, on the same levels."
                )
            else:
                yield f"{rated.rubric.title} {tuned.version} is tuned {tuning_words(tuned)}."


@note("rubrics.deviations", "Deviations")
def deviations(rubrics: Sequence[RatedRubric]) -> Iterator[str]:
    """Each deviation, and where none is known."""
    titles: dict[str, list[str]] = {}
    for rated in rubrics:
        for deviation in () if rated.reworded else rated.rubric.deviations:
            titles.setdefault(deviation, []).append(rated.rubric.title)
    yield from (f"{'; '.join(having)}: {deviation}" for deviation, having in titles.items())
    for rated in rubrics:
        if rated.reworded:
            yield (
                f"{rated.rubric.title} was asked in another wording than the one known here ({rated.rubric.version}); "
                "how that deviated from the source isn't known."
            )


def build(view: RatingsView, seed: int = 0) -> Table | None:
    """One row a rubric, and each deviation below; None where nothing is rated by a rubric."""
    rubrics = rated_rubrics(view)
    return table_of("rubrics", _TITLE, rubrics, COLUMNS, notes=(MEANING, versions, deviations)) if rubrics else None


TABLE = TableKind("rubrics", _TITLE, 85, build, heading="Rubrics", shown="always", beside_published=True)

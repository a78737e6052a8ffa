"""The rubrics that ratings are by, and what they ask otherwise than their sources."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bedside.analysis.ratings_view import RatingsView
from bedside.judges.rubrics.description import tuning_words
from bedside.reports.columns import recorded, table_of
from bedside.reports.notes import Note, note
from bedside.reports.number_text import DASH
from bedside.reports.rated_rubrics import RatedRubric, rated_rubrics
from bedside.reports.table import Table
from bedside.reports.table_content import Column
from bedside.reports.table_kind import TableKind

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


TABLE = TableKind("rubrics", _TITLE, 85, build)

"""The rubrics that ratings are by, and what they ask otherwise than their sources."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bedside.analysis.ratings_view import RatingsView
from bedside.judges.rubrics.description import tuning_words
from bedside.reports.number_text import DASH
from bedside.reports.rated_rubrics import RatedRubric, rated_rubrics
from bedside.reports.table import Table
from bedside.reports.table_content import Cell, Column, Row
from bedside.reports.table_kind import TableKind

_TITLE = "Rubrics, and how many deviations from their sources they declare"


def build(view: RatingsView, seed: int = 0) -> Table | None:
    """One row a rubric, and each deviation below; None where nothing is rated by a rubric."""
    rubrics = rated_rubrics(view)
    if not rubrics:
        return None
    return Table(
        name="rubrics",
        title=_TITLE,
        columns=(
            Column("Rubric", "left"), Column("Version", "left"), Column("Rated by", "left"), Column("Deviations"),
        ),
        rows=tuple(Row(tuple(map(Cell, _cells(rated)))) for rated in rubrics),
        notes=tuple(_notes(rubrics)),
        records=tuple(
            {
                "rubric": rated.rubric.name, "version": rated.rubric.version, "asked": list(rated.versions),
                "raters": list(rated.raters), "source": rated.rubric.source,
                "deviations": list(rated.rubric.deviations),
                "tuned": [rubric.version for rubric in rated.tuned if rubric.tuned],
                "translated": {
                    rubric.version: rubric.language for rubric in rated.tuned if rubric.translated_from
                },
            }
            for rated in rubrics
        ),
    )  # fmt: skip


def _cells(rated: RatedRubric) -> tuple[str, ...]:
    return (
        rated.rubric.title,
        ", ".join(rated.versions) or DASH,
        ", ".join(rated.raters),
        "not known" if rated.reworded else str(len(rated.rubric.deviations)),
    )


def _notes(rubrics: Sequence[RatedRubric]) -> Iterator[str]:
    yield (
        "Version: of the wording that judges were asked by. Deviations: what the rubric asks otherwise than its "
        "source, as it says itself."
    )
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
    titles: dict[str, list[str]] = {}
    for rated in rubrics:
        for deviation in () if rated.reworded else rated.rubric.deviations:
            titles.setdefault(deviation, []).append(rated.rubric.title)
    for deviation, having in titles.items():
        yield f"{'; '.join(having)}: {deviation}"
    reworded = [rated for rated in rubrics if rated.reworded]
    for rated in reworded:
        yield (
            f"{rated.rubric.title} was asked in another wording than the one known here ({rated.rubric.version}); how "
            "that deviated from the source isn't known."
        )


TABLE = TableKind("rubrics", _TITLE, 85, build, heading="Rubrics", shown="always", beside_published=True)

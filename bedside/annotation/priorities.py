"""Which units people should rate first: where judges disagree, or where they are unsure."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Sequence

import polars as pl

from bedside.annotation.annotation_plan import Focus
from bedside.core.errors import DataError
from bedside.judges.rubrics.rubric import Rubric
from bedside.ratings.names import TRANSCRIPT, is_turn, rated_by_humans, rated_by_juries
from bedside.ratings.run import Run


def priorities(run: Run, focus: Focus, rubrics: Sequence[Rubric]) -> dict[tuple[str, str], float]:
    """(transcript, unit) → how early it should be rated, 0 (late) to 1.

    Args:
        run: the run.
        focus: ``disagreement`` or ``uncertain``.
        rubrics: what is rated.

    Raises:
        DataError: judges have rated too little to say so.
    """
    scores = disagreement(run, rubrics) if focus == "disagreement" else uncertainty(run, rubrics)
    if not scores:
        lack = {
            "disagreement": "no unit was rated twice by judges, neither by two of them nor in two passes",
            "uncertain": "no judge has rated any unit on a scale",
        }[focus]
        raise DataError(
            f"{lack} ({', '.join(rubric.name for rubric in rubrics)})",
            where=str(run.path),
            todo="have it judged by several judges or in several passes (bedside score --passes 3), or choose "
            "`focus=random`",
        )
    if rubrics[0].unit == "transcript" or not any(is_turn(unit) for _, unit in scores):
        return scores
    # Coded turns are rated transcript by transcript: a transcript has the mean of its turns.
    grouped: dict[str, list[float]] = {}
    for (transcript, _), score in scores.items():
        grouped.setdefault(transcript, []).append(score)
    return scores | {(name, TRANSCRIPT): statistics.fmean(values) for name, values in grouped.items()}


def _machine_ratings(run: Run, names: Sequence[str]) -> pl.DataFrame:
    """What judges and algorithms said: one row a unit and metric, with lists of values and labels.

    What a jury says is what its members said: it is left out, or they would seem to agree more than they do.
    """
    return (
        run.ratings.filter(
            pl.col("metric").is_in(names), ~rated_by_humans(), ~rated_by_juries(), pl.col("error").is_null()
        )
        .group_by("transcript_id", "unit", "metric", maintain_order=True)
        .agg(pl.col("value").drop_nulls(), pl.col("label").drop_nulls())
    )  # fmt: skip


def disagreement(run: Run, rubrics: Sequence[Rubric]) -> dict[tuple[str, str], float]:
    """How far judges and their passes differ on each unit, 0 (not at all) to 1, the mean over rubrics.

    On a scale: twice the standard deviation of all judges' passes over the width of the scale. Labels: the share of
    answers other than the most frequent one. Counts (lists and sets): twice the standard deviation over the largest
    count given. Units that were rated once only are left out.
    """
    widths = {rubric.name: _width(rubric) for rubric in rubrics}
    scores: dict[tuple[str, str], list[float]] = {}
    for transcript, unit, metric, values, labels in _machine_ratings(run, list(widths)).iter_rows():
        if len(labels) > 1:
            score = 1 - Counter(labels).most_common(1)[0][1] / len(labels)
        elif len(values) > 1:
            width = widths[metric] or max(values) or 1.0
            score = 2 * statistics.pstdev(values) / width
        else:
            continue
        scores.setdefault((transcript, unit), []).append(score)
    return {key: statistics.fmean(by_rubric) for key, by_rubric in scores.items()}


def uncertainty(run: Run, rubrics: Sequence[Rubric]) -> dict[tuple[str, str], float]:
    """How unsure the judge is of each unit, 0 (sure) to 1, the mean over rubrics.

    Where the run has expected levels (``--expected``): the distance of the expected level from the nearest level, over
    half the distance between levels. Else, on a scale: how near the judge's mean is to the middle of the scale, 1 at
    the middle and 0 at its ends. Labels: as in :func:`disagreement`.
    """
    levels = {
        rubric.name: [float(level.value) for level in rubric.scale] for rubric in rubrics if rubric.scale
    }
    by_metric: dict[tuple[str, str], dict[str, float]] = {}
    for transcript, unit, metric, values, _ in _machine_ratings(run, list(levels)).iter_rows():
        if values:
            low, high = levels[metric][0], levels[metric][-1]
            off = abs(statistics.fmean(values) - (low + high) / 2) / ((high - low) / 2)
            by_metric.setdefault((transcript, unit), {})[metric] = 1 - off
    expected = {f"{name}.expected": name for name in levels}
    for transcript, unit, metric, values, _ in _machine_ratings(run, list(expected)).iter_rows():
        if values:
            score = _between_levels(statistics.fmean(values), levels[expected[metric]])
            by_metric.setdefault((transcript, unit), {})[expected[metric]] = score
    scores = {key: list(by_rubric.values()) for key, by_rubric in by_metric.items()}
    for key, score in disagreement(run, [rubric for rubric in rubrics if not rubric.scale]).items():
        scores.setdefault(key, []).append(score)
    return {key: statistics.fmean(by_rubric) for key, by_rubric in scores.items()}


def _between_levels(value: float, levels: Sequence[float]) -> float:
    """How far a value is from the nearest level, over half the distance between levels."""
    above = next((number for number, level in enumerate(levels) if level >= value), len(levels) - 1)
    if above == 0:
        return 0.0
    low, high = levels[above - 1], levels[above]
    return max(0.0, min(value - low, high - value) / ((high - low) / 2))


def _width(rubric: Rubric) -> float | None:
    return float(rubric.scale[-1].value - rubric.scale[0].value) if rubric.scale else None

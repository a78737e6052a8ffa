"""What people say who see a judge's ratings: how often they confirm them, and which way they correct the rest."""

from __future__ import annotations

import fnmatch
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import orjson
import polars as pl

from bedside.analysis.case_values import own_case
from bedside.analysis.checked_units import Chances
from bedside.analysis.ratings_view import RatingsView
from bedside.ratings.names import rated_by_humans
from bedside.ratings.rubric_metrics import AGREE, OF_JUDGE, REMOVED, agreement_metric, audited_metric
from bedside.ratings.scales import Scale
from bedside.stats.result import Result

#: A person's own answer beside the judge's, in words where it has a direction.
HIGHER, LOWER, OTHERS = "higher", "lower", "as many, but others"


@dataclass(frozen=True, slots=True)
class Audit:
    """People's verdict on a judge's ratings by one rubric, or on those of one level.

    Attributes:
        rubric: the rubric.
        title: its title.
        judge: the rater whose ratings were shown; None where it is not recorded.
        level: what the judge gave; None for all that it gave.
        people: who audited, sorted.
        transcripts, cases: what the units are of; a transcript without a case counts as one.
        confirmed: share of people's answers that confirm, clustered by case where several answers are of one. Where
            units were drawn with chances that differ, each answer is weighted by one over its unit's.
        answers: people's answers in all; several people may audit a unit.
        confirming: those of them that confirm.
        units: units audited.
        by_majority: units that more than half of those who audited them confirm.
        ties: units that half of those who audited them confirm.
        corrections: of the other answers, how many say what: ``higher`` or ``lower`` than the judge where levels
            have an order, else the label; of links and sets, how many there are, or ``as many, but others``; of lists,
            how many entries they remove, move to another label, and add.
        uncorrected: those that give no answer of their own.
        missing: answers that were skipped or contradict themselves, which count nowhere.
        chances: how the audited units were drawn.
        picked: units left out because they were picked for what they are, and not drawn.
        round: the round of annotation that it is of; None where all count together.
        precision, recall: of a judge's lists: of its entries, the share that people keep by its label; of the entries
            that lists have as people correct them, the share that are these. Over cases; None of anything else.
    """

    rubric: str
    title: str
    judge: str | None
    level: str | None
    people: tuple[str, ...]
    transcripts: int
    cases: int
    confirmed: Result
    answers: int
    confirming: int
    units: int
    by_majority: int
    ties: int
    corrections: Mapping[str, int] = field(default_factory=dict)
    uncorrected: int = 0
    missing: int = 0
    chances: Chances = "unknown"
    picked: int = 0
    round: str | None = None
    precision: Result | None = None
    recall: Result | None = None


class _AuditAnswer(NamedTuple):
    """One person's answer on one unit."""

    transcript: str
    unit: str
    round: str
    person: str
    judge: str | None
    shown: float | str | None
    opinion: str | None
    own: float | str | None
    case: str
    drawn: float | None
    entries: Counter[str] | None


def audits(
    view: RatingsView, *, metrics: Sequence[str] | None = None, raters: Sequence[str] | None = None
) -> tuple[Audit, ...]:
    """People's verdicts by rubric and judge, each in all and then by the level that the judge gave.

    Args:
        view: the ratings.
        metrics: metrics or patterns; all that were audited unless named. A rubric's name stands for its audit.
        raters: people and judges, or patterns; all unless named.

    Raises:
        DataError: an unknown metric or rater.
    """
    chosen = set(view.raters(raters))
    verdicts: list[Audit] = []
    for rubric in _named_rubrics(view, metrics):
        answers = [
            answer
            for answer in _answers(view.ratings, rubric)
            if answer.person in chosen and answer.judge in {None, *chosen}
        ]
        title, scale = view.facts(rubric).title, view.scales.get(audited_metric(rubric))
        judges = dict.fromkeys(answer.judge for answer in answers)
        for judge in judges:
            of_judge, picked = _drawn_answers([answer for answer in answers if answer.judge == judge])
            whole = _audit(rubric, title, scale=scale, judge=judge, level=None, answers=of_judge)
            verdicts.append(replace(whole, picked=picked))
            levels = _levels(of_judge, scale)
            if len(levels) > 1:
                by_level = {level: [answer for answer in of_judge if answer.shown == level] for level in levels}
                verdicts += [
                    _audit(rubric, title, scale=scale, judge=judge, level=_text(level), answers=own)
                    for level, own in by_level.items()
                ]
    return tuple(verdicts)


def _named_rubrics(view: RatingsView, patterns: Sequence[str] | None) -> list[str]:
    """The audited rubrics that match a pattern, by their own name or by that of one of their audit's metrics.

    Raises:
        DataError: a pattern matches neither a rubric nor a metric.
    """
    rubrics = view.audited_rubrics()
    if patterns is None:
        return rubrics
    matching: set[str] = set()
    for pattern in patterns:
        by_name = {rubric for rubric in rubrics if fnmatch.fnmatchcase(rubric, pattern)}
        names = {*view.metrics_like(pattern)} if by_name else {*view.metrics([pattern])}
        matching |= by_name
        matching |= {rubric for rubric in rubrics if {rubric, agreement_metric(rubric), audited_metric(rubric)} & names}
    return [rubric for rubric in rubrics if rubric in matching]


def _drawn_answers(answers: list[_AuditAnswer]) -> tuple[list[_AuditAnswer], int]:
    """The answers without those on units that were picked, and how many units those are; all where all were picked."""
    drawn = [answer for answer in answers if answer.drawn != 0]
    picked = len({answer[:3] for answer in answers if answer.drawn == 0})
    return (drawn, picked) if drawn else (answers, 0)


def _chances(answers: Iterable[_AuditAnswer]) -> Chances:
    """How the units of answers were drawn; those of several rounds were not drawn as one sample."""
    drawn, rounds = {answer.drawn for answer in answers}, {answer.round for answer in answers}
    if None in drawn or not drawn or len(rounds) > 1:
        return "unknown"
    if drawn == {0.0}:
        return "none"
    return "equal" if len(drawn) == 1 else "unequal"


def _answers(ratings: pl.DataFrame, rubric: str) -> list[_AuditAnswer]:
    """People's answers beside what the judge gave in the same round; of a person's passes the first counts."""
    place = ["transcript_id", "unit", "round"]
    cell = pl.coalesce(pl.col("value").cast(pl.String()), pl.col("label"))
    first = ratings.sort("replicate").unique(
        ["transcript_id", "unit", "round", "metric", "rater"], keep="first", maintain_order=True
    )
    by_person = rated_by_humans()
    opinions = first.filter(by_person, pl.col("metric") == agreement_metric(rubric))
    audited = first.filter(pl.col("metric") == audited_metric(rubric)).with_columns(cell.alias("cell"))
    own = audited.filter(by_person).select(*place, "rater", pl.col("cell").alias("own"), "reason")
    shown = audited.filter(~by_person).select(*place, pl.col("rater").alias("judge"), pl.col("cell").alias("shown"))
    together = (
        opinions.select(*place, "rater", "label", own_case(), "drawn")
        .join(own, on=[*place, "rater"], how="left")
        .join(shown, on=place, how="left")
        .sort(*place, "rater", "judge")
        .select(*place, "rater", "judge", "shown", "label", "own", "case", "drawn", "reason")
    )
    numbers = bool(audited["value"].is_not_null().any())
    return [
        _AuditAnswer._make(
            (*unit_and_raters, _cell(shown, numbers), opinion, _cell(own, numbers), case, drawn, _entries_of(reason))
        )
        for *unit_and_raters, shown, opinion, own, case, drawn, reason in together.iter_rows()
    ]


#: What becomes of entries of a judge's list, which is corrected.
KEPT, MOVED, ADDED = "kept", "other label", "added"


def _entries_of(reason: str | None) -> Counter[str] | None:
    """How many entries of a judge's list a person keeps, removes, moves to another label, and adds; None of anything
    else."""
    try:
        said = orjson.loads(reason or "")
        (entries,) = (own for name, own in said.items() if name not in ("reason", REMOVED))
        count = Counter({REMOVED: len(said[REMOVED])})
        for entry in entries:
            (label, *_), judges = entry, entry.get(OF_JUDGE)
            count[ADDED if judges is None else KEPT if judges[label] == entry[label] else MOVED] += 1
    except (TypeError, ValueError, LookupError, AttributeError):
        return None
    return count


def _share_kept(answers: Sequence[_AuditAnswer], *others: str) -> Result | None:
    """Of kept entries and others, the share that are kept, over cases; None where no list was corrected."""
    from bedside.stats.shares import share

    lists = [(answer, answer.entries) for answer in answers if answer.entries is not None]
    if not lists:
        return None
    rows = [(what, own) for own, entries in lists for what in (KEPT, *others) for _ in range(entries[what])]
    weights = [1 / (own.drawn or 1.0) for _, own in rows] if _chances(answers) == "unequal" else None
    return share([float(what == KEPT) for what, _ in rows], clusters=[own.case for _, own in rows], weights=weights)


def _cell(text: str | None, number: bool) -> float | str | None:
    return float(text) if number and text is not None else text


def _levels(answers: Iterable[_AuditAnswer], scale: Scale | None) -> list[float | str]:
    """The levels that the judge gave, in the order of the scale."""
    given = {answer.shown for answer in answers if answer.shown is not None}
    if scale is not None and given <= set(scale.levels):
        return [level for level in scale.levels if level in given]
    return sorted(given, key=lambda level: (isinstance(level, str), level))


def _audit(
    rubric: str,
    title: str,
    *,
    scale: Scale | None,
    judge: str | None,
    level: str | None,
    answers: Sequence[_AuditAnswer],
) -> Audit:
    """The verdict on the ratings that these answers are about."""
    from bedside.stats.shares import share

    valid = [answer for answer in answers if answer.opinion is not None]
    by_unit: dict[tuple[str, str, str], list[bool]] = {}
    for answer in valid:
        by_unit.setdefault(answer[:3], []).append(answer.opinion == AGREE)
    cases = [answer.case for answer in valid]
    chances = _chances(valid)
    others = [answer for answer in valid if answer.opinion != AGREE]
    corrected = [answer for answer in others if isinstance(answer.own, float) or answer.own not in (None, answer.shown)]
    return Audit(
        rubric=rubric,
        title=title,
        judge=judge,
        level=level,
        people=tuple(sorted({answer.person for answer in valid})),
        transcripts=len({answer.transcript for answer in valid}),
        cases=len(set(cases)),
        confirmed=share(
            [float(answer.opinion == AGREE) for answer in valid],
            clusters=cases if len(set(cases)) < len(cases) else None,
            weights=[1 / (answer.drawn or 1.0) for answer in valid] if chances == "unequal" else None,
        ),
        answers=len(valid),
        confirming=len(valid) - len(others),
        units=len(by_unit),
        by_majority=sum(2 * sum(opinions) > len(opinions) for opinions in by_unit.values()),
        ties=sum(2 * sum(opinions) == len(opinions) for opinions in by_unit.values()),
        corrections=_corrections(corrected, scale),
        uncorrected=len(others) - len(corrected),
        missing=len(answers) - len(valid),
        chances=chances,
        precision=_share_kept(valid, REMOVED, MOVED),
        recall=_share_kept(valid, MOVED, ADDED),
    )


def _corrections(answers: Sequence[_AuditAnswer], scale: Scale | None) -> dict[str, int]:
    """Which way people go: higher or lower where levels have an order, else which label; most frequent first."""
    words = []
    for answer in answers:
        if answer.entries is not None:
            words += [what for what in (REMOVED, MOVED, ADDED) for _ in range(answer.entries[what])]
            continue
        own, shown = (_place(level, scale) for level in (answer.own, answer.shown))
        if own is None or shown is None:
            words.append(_text(answer.own))
        else:
            words.append(HIGHER if own > shown else LOWER if own < shown else OTHERS)
    return dict(Counter(words).most_common())


def _place(level: float | str | None, scale: Scale | None) -> float | None:
    """Where a level stands among others; None of a label without an order."""
    if isinstance(level, float):
        return level
    ordered = scale is not None and scale.ordered and level in scale.levels
    return float(list(scale.levels).index(level)) if scale is not None and ordered else None


def _text(level: float | str | None) -> str:
    return f"{level:g}" if isinstance(level, float) else str(level)

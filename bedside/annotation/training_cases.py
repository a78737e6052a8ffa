"""Training cases: units with known answers, which raters rate first; and whether a rater passed."""

from __future__ import annotations

import os
import random
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
import polars as pl

from bedside.annotation.annotation_plan import AnnotationPlan
from bedside.annotation.answer_revisions import RevisionHistory
from bedside.annotation.answers import RaterAnswer
from bedside.annotation.fields import CASE_KINDS, NONE, choices, entry_part
from bedside.annotation.items import case_fields, problem, rated_fields
from bedside.annotation.known_answers import compared_with_known, level_spans, pooled_kappa, pooled_link_f1
from bedside.annotation.plan_choices import Mode
from bedside.core.errors import DataError, InputError, one_of
from bedside.judges.rubrics.answer_form import LINKED_KINDS
from bedside.judges.rubrics.rubric import Rubric, link_form
from bedside.ratings.names import rated_by_humans, unit_name
from bedside.ratings.run import Run
from bedside.transcripts.reading import Reading
from bedside.transcripts.transcript import Transcript

# -- Training cases -------------------------------------------------------------------------------------

#: Key of a transcript's reference that holds the known answers of a training set.
ANSWERS_KEY = "answers"


@dataclass(frozen=True, slots=True)
class TrainingCase:
    """A unit with known answers.

    Attributes:
        transcript: id of the transcript.
        answers: as in :class:`~bedside.annotation.annotation_plan.TrainingItem`.
        unit: ``transcript`` or ``turn:<index>``.
        content: the transcript as JSON where it isn't one of the run's.
    """

    transcript: str
    answers: Mapping[str, Any]
    unit: str = "transcript"
    content: str | None = None


def read_training(
    path: str | os.PathLike[str],
    mode: Mode,
    rubrics: Sequence[Rubric],
    *,
    where: str = "`training`",
    walked: Collection[str] = (),
) -> tuple[TrainingCase, ...]:
    """A training set, or gold items, from a file of transcripts whose reference holds the known ``answers``.

    ``answers`` has a key for each rubric: the level or label; for rubrics about turns, turn (counted from 0) → label;
    in findings mode, the list of findings; by links the list of a judge's reply, of one link its number or null; by
    points true or false for each criterion. Questions that the right walk of a flow doesn't ask have none.

    Args:
        path: the file.
        mode: how people rate.
        rubrics: by which.
        where: the argument that names the file.
        walked: the questions of flows.

    Raises:
        InputError: no answers, or one that the rubric doesn't have; the transcript is named.
    """
    if mode == "audit":
        raise InputError(
            "in mode audit raters see a judge's scores, and known answers have none",
            where=where,
            todo="leave it out, or choose another `mode`",
        )
    cases: list[TrainingCase] = []
    for transcript in Reading([path]):
        answers = transcript.reference.get(ANSWERS_KEY)
        if not isinstance(answers, Mapping):
            raise InputError(
                f"the reference of transcript {transcript.id!r} has no {ANSWERS_KEY}",
                where=transcript.source,
                todo='give it "reference": {"answers": {RUBRIC: LEVEL}}',
            )
        reason = problem(rubrics, transcript)
        if reason is not None:
            raise InputError(
                f"transcript {transcript.id!r} can't be shown to raters: {reason}", where=transcript.source
            )
        cases += _cases(transcript, mode, rubrics, answers, walked)
    return tuple(cases)


def _cases(
    transcript: Transcript, mode: Mode, rubrics: Sequence[Rubric], answers: Mapping[str, Any], walked: Collection[str]
) -> list[TrainingCase]:
    where = f"{transcript.source}: transcript {transcript.id!r}"
    checked: dict[str, Any] = {}
    for rubric in rubrics:
        if rubric.name not in answers and rubric.name in walked and any(name in answers for name in walked):
            continue
        if rubric.name not in answers:
            raise InputError(f"there is no known answer on {rubric.name}", where=where, todo="give one")
        answer = answers[rubric.name]
        if mode == "findings":
            checked[rubric.name] = _known_list(rubric, answer, where)
        elif rubric.kind in CASE_KINDS:
            checked[rubric.name] = _known_fields(rubric, answer, transcript, where)
        elif rubric.unit == "turn":
            checked[rubric.name] = _known_turns(rubric, answer, len(transcript.turns), where)
        elif rubric.kind == "set":
            checked[rubric.name] = sorted(_choice(rubric, label, where) for label in answer)
        else:
            checked[rubric.name] = _choice(rubric, answer, where)
    if not any(answer for answer in checked.values() if isinstance(answer, dict)) and all(
        rubric.kind in CASE_KINDS and mode != "findings" for rubric in rubrics
    ):
        raise InputError("nothing is asked of the transcript", where=where, todo="leave it out of the file")
    content = transcript.to_json().decode()
    if mode == "codes" or rubrics[0].unit == "transcript":
        return [TrainingCase(transcript.id, checked, content=content)]
    turns = sorted({turn for by_turn in checked.values() for turn in by_turn}, key=int)
    return [
        TrainingCase(
            transcript.id,
            {name: by_turn[turn] for name, by_turn in checked.items() if turn in by_turn},
            unit_name(int(turn)),
            content,
        )
        for turn in turns
    ]


def _known_fields(rubric: Rubric, answer: Any, transcript: Transcript, where: str) -> dict[str, str]:
    """Field → the right choice, of each criterion, entry and link."""
    asked = case_fields(rubric, transcript)
    if rubric.kind == "points":
        said: Any = [{"met": met, "reason": ""} for met in answer] if isinstance(answer, list) else None
        fits = said is not None and all(isinstance(met, bool) for met in answer)
    elif (form := link_form(rubric)).rows is None:
        said, fits = answer, form.target.problem(answer, {}) is None
    else:
        entries = [field for field in asked if field.said]
        targets = {choice for field in entries for choice, _ in field.choices} - {NONE}
        counts = {form.rows: len(entries), str(form.target.of): len(targets)}
        parts = [part for part in (rubric.answer[0].items or rubric.answer) if part not in form.texts]
        fits = isinstance(answer, list) and (form.one_to_one or len(answer) == len(entries))
        fits = fits and all(
            isinstance(entry, Mapping) and not any(part.problem(entry.get(part.name), counts) for part in parts)
            for entry in answer
        )
        by_place = [{"item": place, **entry} for place, entry in enumerate(answer)] if fits else None
        said = {"links": answer} if form.one_to_one else by_place
    single = rubric.kind == "index" and rubric.each is None
    row = {
        "value": answer if single else 0.0,
        "error": f"found no {link_form(rubric).target.name}" if single and answer is None else None,
        "reason": "" if single else orjson.dumps(said).decode(),
    }
    fields = (rated_fields(rubric, asked, row, transcript) if fits else None) or {}
    known = {field.name: fields[field.name] for field in asked if field.name in fields}
    allowed = {field.name: {choice for choice, _ in field.choices} for field in asked}
    links = {field.name: known.get(field.name) for field in asked if field.said}
    linked = sum(choice not in (None, NONE) for choice in links.values())
    lost = rubric.kind == "pairs" and (not fits or linked < len(answer))
    if lost or None in links.values() or any(choice not in allowed[name] for name, choice in known.items()):
        raise InputError(
            f"the known answer on {rubric.name} is none to what the transcript is asked",
            where=where,
            todo='give what a judge\'s reply would hold, such as [{"finding": 0, "concern": 1, "category_agrees": '
            "true}], or true or false for each criterion",
        )
    return known


def _known_list(rubric: Rubric, entries: Any, where: str) -> list[dict[str, str]]:
    label_part, text_part = entry_part(rubric)
    labels = {label.label for label in label_part.labels}
    if not isinstance(entries, list) or any(
        not isinstance(entry, Mapping)
        or entry.get(label_part.name) not in labels
        or not str(entry.get(text_part.name, "")).strip()
        for entry in entries
    ):
        raise InputError(
            f"the known answer on {rubric.name} is not a list of entries with {label_part.name} and {text_part.name}",
            where=where,
            todo=f"give each entry both; {label_part.name} is one of {', '.join(sorted(labels))}",
        )
    return [
        {label_part.name: entry[label_part.name], text_part.name: str(entry[text_part.name]).strip()}
        for entry in entries
    ]


def _known_turns(rubric: Rubric, labels: Any, turn_count: int, where: str) -> dict[str, str]:
    if not isinstance(labels, Mapping):
        raise InputError(f"the known answer on {rubric.name} names no turn", where=where, todo="give turn: label")
    checked = {}
    for turn, label in labels.items():
        # A figure above the line is a digit and no number, and Python refuses thousands of digits.
        if not re.fullmatch(r"\d{1,9}", str(turn)) or int(turn) >= turn_count:
            raise InputError(f"there is no turn {turn!r}", where=where, todo="count turns from 0")
        checked[str(int(turn))] = _choice(rubric, label, where)
    return checked


def _choice(rubric: Rubric, answer: Any, where: str) -> str:
    is_number = isinstance(answer, int | float) and not isinstance(answer, bool)
    text = f"{answer:g}" if is_number else str(answer)
    allowed = [choice for choice, _ in choices(rubric)]
    return one_of(text, allowed, f"{rubric.name} answer", InputError, where=where)


def training_from_run(
    run: Run, mode: Mode, rubrics: Sequence[Rubric], count: int, seed: int = 0
) -> tuple[TrainingCase, ...]:
    """A training set of the run's own units, drawn from those that people agree on by every rubric.

    At least two people must have rated the unit and given the same level or label; that is the known answer.

    Raises:
        DataError: there are fewer than ``count``, or the mode isn't rate.
    """
    if mode != "rate":
        raise DataError(
            f"in mode {mode} there is no consensus to train by",
            where="`training`",
            todo="give a file of transcripts with known answers",
        )
    names = [rubric.name for rubric in rubrics]
    if of_case := [rubric.name for rubric in rubrics if rubric.kind in CASE_KINDS]:
        raise DataError(
            f"consensus on {', '.join(of_case)} is no known answer to each entry or criterion",
            where="`training`",
            todo="give a file of transcripts with known answers",
        )
    consensus = _consensus(run, names)
    if len(consensus) < count:
        raise DataError(
            f"people agree on {len(consensus)} units by all of {', '.join(names)}, fewer than {count}",
            where="`training`",
            todo="give a lower number, or a file of transcripts with known answers",
        )
    chosen = random.Random(f"{seed}:training").sample(sorted(consensus), count)
    return tuple(
        TrainingCase(transcript, {name: consensus[transcript, unit][name] for name in names}, unit)
        for transcript, unit in chosen
    )


def _consensus(run: Run, names: Sequence[str]) -> dict[tuple[str, str], dict[str, str]]:
    """Units on which two or more people agree by every metric: (transcript, unit) → metric → what they all chose."""
    people = run.ratings.filter(pl.col("metric").is_in(names), rated_by_humans(), pl.col("error").is_null())
    chosen: dict[tuple[str, str], dict[str, dict[str, str]]] = {}
    columns = ("transcript_id", "unit", "metric", "rater", "value", "label")
    for transcript, unit, metric, rater, value, label in people.select(columns).iter_rows():
        choice = label if label is not None else f"{value:g}"
        chosen.setdefault((transcript, unit), {}).setdefault(metric, {})[rater] = choice
    return {
        key: {metric: next(iter(by_rater.values())) for metric, by_rater in by_metric.items()}
        for key, by_metric in chosen.items()
        if len(by_metric) == len(names)
        and all(len(by_rater) > 1 and len(set(by_rater.values())) == 1 for by_rater in by_metric.values())
    }


# -- Whether a rater passed training --------------------------------------------------------------------

#: Item → role → indices of the turns that are coded, as :func:`~bedside.annotation.items.coded_positions` gives them.
CodedPositions = Mapping[str, Mapping[str, Sequence[int]]]


@dataclass(frozen=True, slots=True)
class TrainingResult:
    """How a rater did on the training set.

    Attributes:
        rater: whose.
        items: of the training set that the rater has.
        answered: those that the rater handed in.
        answers: known answers that were compared; of lists, how many lists.
        right: those that are the same as the known one; of lists, the sum of their F1.
        off: mean distance from the known level, in the scale's unit; None where there are no levels.
        kappa: :func:`~bedside.annotation.known_answers.pooled_kappa`; None where it can't be computed, and of lists.
        wanted: the kappa that the plan asks for; None where it asks for none.
        link_f1: F1 of all links with the known ones; None where none are asked for.
        only_links: whether nothing else is asked for, so that kappa need not be known.
        let_in: whether the rater goes on in any case.
    """

    rater: str
    items: int
    answered: int
    answers: int
    right: float
    off: float | None
    kappa: float | None
    wanted: float | None
    link_f1: float | None = None
    only_links: bool = False
    let_in: bool = False

    @property
    def score(self) -> float | None:
        """``right / answers``."""
        return self.right / self.answers if self.answers else None

    @property
    def done(self) -> bool:
        """Whether the rater handed in the whole training set."""
        return self.answered == self.items

    @property
    def passed(self) -> bool:
        """Whether the rater may go on: nothing is asked for, or the whole set was handed in and kappa is reached; of
        links, F1."""
        if self.wanted is None or self.let_in:
            return True
        scores = [score for score in (self.kappa, self.link_f1) if score is not None]
        known = self.kappa is not None or self.only_links
        return self.done and known and bool(scores) and min(scores) >= self.wanted


def training_result(
    plan: AnnotationPlan, rater: str, answers: Iterable[RaterAnswer], positions: CodedPositions
) -> TrainingResult:
    """How a rater did on the training set; of two sets, on the last that the rater was shown.

    Args:
        plan: the plan as it is assigned now.
        rater: one of its raters.
        answers: the first answer that the rater handed in to each training item; others are passed over. After
            feedback, an answer would say what was told.
        positions: :func:`~bedside.annotation.items.coded_positions`.
    """
    assigned, standing = set(plan.assignment[rater]), plan.standing(rater)
    shown = [item for item in plan.training if item.id in assigned]
    training = {item.id: item for item in [item for item in shown if item.again] or shown}
    first: dict[str, RaterAnswer] = {}
    for answer in answers:
        if (
            answer.rater == rater
            and answer.item in training
            and answer.state != "draft"
            and not (standing.retrained and answer.updated < standing.retrained)
        ):
            first.setdefault(answer.item, answer)
    compared = [
        comparison
        for name, answer in first.items()
        for comparison in compared_with_known(plan, training[name], answer, positions.get(name, {}))
    ]
    distances = [comparison.off for comparison in compared if comparison.off is not None]
    return TrainingResult(
        rater=rater,
        items=len(training),
        answered=len(first),
        answers=len(compared),
        right=sum(comparison.right for comparison in compared),
        off=sum(distances) / len(distances) if distances else None,
        kappa=None if plan.mode == "findings" else pooled_kappa(compared, level_spans(plan)),
        wanted=plan.training_kappa,
        link_f1=pooled_link_f1(compared),
        only_links=all(rubric.kind in LINKED_KINDS for rubric in plan.questions),
        let_in=standing.let_in,
    )


def training_results(
    plan: AnnotationPlan, history: RevisionHistory, positions: CodedPositions
) -> tuple[TrainingResult, ...]:
    """How each rater of a plan did on the training set, by what reached the run first; none without a set."""
    if not plan.training:
        return ()
    own = [revision.answer for revision in history.revisions if revision.answer.changed_by is None]
    return tuple(training_result(plan, rater, own, positions) for rater in plan.raters)

"""Training cases: units with known answers, which raters rate first."""

from __future__ import annotations

import os
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from bedside.annotation.annotation_plan import Mode
from bedside.annotation.fields import choices, entry_part
from bedside.annotation.items import problem
from bedside.ratings.run import Run
from bedside.rubrics.rubric import Rubric
from bedside.support.errors import DataError, InputError
from bedside.transcripts import Reading, Transcript

#: Key of a transcript's reference that holds the known answers of a training set.
KNOWN = "answers"


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
    path: str | os.PathLike[str], mode: Mode, rubrics: Sequence[Rubric]
) -> tuple[TrainingCase, ...]:
    """A training set from a file of transcripts whose reference holds the known ``answers``.

    ``answers`` has a key for each rubric: the level or label; for rubrics about turns, turn (counted from 0) → label;
    in findings mode, the list of findings.

    Raises:
        InputError: no answers, or one that the rubric doesn't have; the transcript is named.
    """
    if mode == "audit":
        raise InputError("a training set is for raters who don't see a judge's scores", where="--training")
    cases: list[TrainingCase] = []
    for transcript in Reading([path]):
        answers = transcript.reference.get(KNOWN)
        if not isinstance(answers, Mapping):
            raise InputError(
                f"the reference of transcript {transcript.id!r} has no {KNOWN}",
                where=transcript.source,
                todo='give it "reference": {"answers": {RUBRIC: LEVEL}}',
            )
        wrong = problem(rubrics, transcript)
        if wrong is not None:
            raise InputError(
                f"transcript {transcript.id!r} can't be shown to raters: {wrong}", where=transcript.source
            )
        cases += _cases(transcript, mode, rubrics, answers)
    return tuple(cases)


def _cases(
    transcript: Transcript, mode: Mode, rubrics: Sequence[Rubric], answers: Mapping[str, Any]
) -> list[TrainingCase]:
    where = f"{transcript.source}: transcript {transcript.id!r}"
    known: dict[str, Any] = {}
    for rubric in rubrics:
        if rubric.name not in answers:
            raise InputError(f"no known answer on {rubric.name}", where=where, todo="give one")
        known[rubric.name] = _known(rubric, answers[rubric.name], transcript, mode, where)
    content = transcript.to_json().decode()
    if mode == "codes" or rubrics[0].unit == "transcript":
        return [TrainingCase(transcript.id, known, content=content)]
    turns = sorted({turn for by_turn in known.values() for turn in by_turn}, key=int)
    return [
        TrainingCase(
            transcript.id,
            {name: by_turn[turn] for name, by_turn in known.items() if turn in by_turn},
            f"turn:{turn}",
            content,
        )
        for turn in turns
    ]


def _known(rubric: Rubric, given: Any, transcript: Transcript, mode: Mode, where: str) -> Any:
    if mode == "findings":
        label, text = entry_part(rubric)
        labels = {each.label for each in label.labels}
        if not isinstance(given, list) or any(
            not isinstance(entry, Mapping)
            or entry.get(label.name) not in labels
            or not str(entry.get(text.name, "")).strip()
            for entry in given
        ):
            raise InputError(
                f"the known {rubric.name} are no list of {label.name} and {text.name}", where=where
            )
        return [{label.name: entry[label.name], text.name: str(entry[text.name]).strip()} for entry in given]
    if rubric.unit == "turn":
        if not isinstance(given, Mapping):
            raise InputError(
                f"the known answer on {rubric.name} is of no turn", where=where, todo="give turn: label"
            )
        found = {}
        for turn, choice in given.items():
            if not str(turn).isdigit() or int(turn) >= len(transcript.turns):
                raise InputError(f"there is no turn {turn!r}", where=where, todo="count turns from 0")
            found[str(int(turn))] = _choice(rubric, choice, where)
        return found
    if rubric.kind == "set":
        return sorted(_choice(rubric, each, where) for each in given)
    return _choice(rubric, given, where)


def _choice(rubric: Rubric, given: Any, where: str) -> str:
    number = isinstance(given, int | float) and not isinstance(given, bool)
    text = f"{given:g}" if number else str(given)
    known = [choice for choice, _ in choices(rubric)]
    if text not in known:
        raise InputError(
            f"{text!r} is no answer to {rubric.name}", where=where, todo=f"one of {', '.join(known)}"
        )
    return text


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
            f"in mode {mode} there is no consensus to train by", where="--training", todo="give a file of transcripts"
        )  # fmt: skip
    names = [rubric.name for rubric in rubrics]
    people = run.ratings.filter(
        pl.col("metric").is_in(names), pl.col("rater").str.starts_with("human:"), pl.col("error").is_null()
    )
    said: dict[tuple[str, str], dict[str, dict[str, str]]] = {}
    columns = ("transcript_id", "unit", "metric", "rater", "value", "label")
    for transcript, unit, metric, rater, value, label in people.select(columns).iter_rows():
        choice = label if label is not None else f"{value:g}"
        said.setdefault((transcript, unit), {}).setdefault(metric, {})[rater] = choice
    agreed = {
        key: {metric: next(iter(by_rater.values())) for metric, by_rater in by_metric.items()}
        for key, by_metric in said.items()
        if len(by_metric) == len(names)
        and all(len(by_rater) > 1 and len(set(by_rater.values())) == 1 for by_rater in by_metric.values())
    }
    if len(agreed) < count:
        raise DataError(
            f"people agree on {len(agreed)} units by all of {', '.join(names)}, fewer than {count}",
            where="--training",
            todo="give a lower number, or a file of transcripts with known answers",
        )
    chosen = random.Random(f"{seed}:training").sample(sorted(agreed), count)
    return tuple(
        TrainingCase(transcript, {name: agreed[transcript, unit][name] for name in names}, unit)
        for transcript, unit in chosen
    )

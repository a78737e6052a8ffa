"""What raters are shown: the tasks of a labelling page, made of a plan and its run.

A task is ``{"data": {…}}`` with

- ``external_id``: the item's opaque id;
- ``dialogue``: the turns shown, ``[{"speaker": "Clinician", "text": …}, …]``, in order; of a turn that is rated on its
  own, the turns up to it;
- ``input_<name>``: text of an input that one of the plan's rubrics needs (background, goal, …);
- ``rated_turn``: where single turns are rated, the number (from 0) of the rated turn, the last one shown;
- ``clinician_turns``, ``patient_turns``: in codes mode, the turns to be coded, ``[{"turn": "2", "speaker": …,
  "text": …}, …]`` with the number (from 0) as the page counts them; only of roles that have a code;
- ``judge_<rubric>``, ``judge_reason_<rubric>``: in audit mode, the judge's score, as a choice of the page, and its
  reason.

Nothing else: no system, case, factor, file name or id of a transcript, and speakers go by their roles, because names of
speakers can say who wrote a conversation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from bedside.annotation.annotation_plan import AnnotationPlan, PlanItem, TrainingItem
from bedside.annotation.fields import choices
from bedside.ratings.names import TRANSCRIPT, turn_index
from bedside.ratings.run import Run
from bedside.ratings.transcript_rows import parse_transcript
from bedside.rubrics.rubric import Rubric
from bedside.support.errors import DataError, InputError
from bedside.transcripts import Transcript

#: Largest task in bytes of JSON, and turns of one: with more, a browser's tab can take a minute to open or give up.
MAX_BYTES = 2_000_000
MAX_TURNS = 2_000
EMPTY_TURN = "(nothing was said)"
_NO_REASON = "(no reason given)"
_UNWRITABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")


def clean(text: str) -> str:
    """A text without characters that databases and spreadsheets refuse."""
    return _UNWRITABLE.sub("\ufffd", text)


def dialogue(transcript: Transcript, unit: str = TRANSCRIPT) -> list[dict[str, str]]:
    """The turns shown for a unit of a transcript."""
    shown = transcript.turns if unit == TRANSCRIPT else transcript.turns[: turn_index(unit) + 1]
    return [
        {"speaker": turn.role.capitalize(), "text": clean(turn.text).strip() or EMPTY_TURN} for turn in shown
    ]


def inputs_of(rubrics: Sequence[Rubric], transcript: Transcript) -> dict[str, str]:
    """The inputs that rubrics need of a transcript's reference, as texts."""
    names = dict.fromkeys(name for rubric in rubrics for name in rubric.references)
    return {name: _words(transcript.reference.get(name)) for name in names}


def _words(value: object) -> str:
    if isinstance(value, list | tuple):
        return "\n".join(f"{number}. {_words(entry)}" for number, entry in enumerate(value, 1))
    if isinstance(value, Mapping):
        return "; ".join(f"{clean(str(key))}: {_words(entry)}" for key, entry in value.items())
    return "" if value is None else clean(str(value)).strip()


def problem(rubrics: Sequence[Rubric], transcript: Transcript) -> str | None:
    """Why a transcript can't be shown to raters; None if it can."""
    if not transcript.turns:
        return "no turns"
    for name, text in inputs_of(rubrics, transcript).items():
        if not text:
            return f"no {name.replace('_', ' ')}"
    roles = {turn.role for turn in transcript.turns}
    for rubric in rubrics:
        if rubric.unit == "turn" and rubric.role is not None and rubric.role not in roles:
            return f"no turn of the {rubric.role}"
    if len(transcript.turns) > MAX_TURNS or len(transcript.to_json()) > MAX_BYTES:
        return f"too long for a page (over {MAX_TURNS:,} turns or {MAX_BYTES // 1_000_000} MB)"
    return None


def coded_turns(rubrics: Sequence[Rubric], transcript: Transcript) -> dict[str, list[int]]:
    """Role → indices (from 0) of the turns to be coded, for the roles that have a code."""
    roles = dict.fromkeys(rubric.role for rubric in rubrics if rubric.role is not None)
    return {role: [turn.index for turn in transcript.of(role)] for role in roles}


def shown_transcripts(plan: AnnotationPlan, run: Run) -> dict[str, Transcript]:
    """The transcript of each of the plan's items, by the item's id.

    Raises:
        RunError: the run keeps no text.
    """
    ids = {item.transcript for item in plan.everything}
    transcripts = {transcript.id: transcript for transcript in run.transcripts() if transcript.id in ids}
    shown = {item.id: transcripts[item.transcript] for item in plan.items}
    for item in plan.training:
        content = item.content
        shown[item.id] = transcripts[item.transcript] if content is None else parse_transcript(content)
    return shown


def label_studio_tasks(plan: AnnotationPlan, run: Run, rater: str | None = None) -> list[dict[str, Any]]:
    """The tasks of a labelling page.

    Args:
        plan: the plan.
        run: its run.
        rater: whose tasks, in the rater's order; None for one page that raters share: the training set, then all items.

    Raises:
        RunError: the run keeps no text.
        DataError: in audit mode, the judge has not rated an item.
        InputError: a transcript is too long for a page, or can't be shown by the plan's rubrics.
    """
    transcripts = shown_transcripts(plan, run)
    scores = judge_scores(plan, run) if plan.judge is not None else {}
    order = plan.assignment[rater] if rater is not None else [item.id for item in plan.everything]
    return [{"data": dict(_data(plan, plan.by_id[name], transcripts[name], scores))} for name in order]


def _data(
    plan: AnnotationPlan,
    item: PlanItem | TrainingItem,
    transcript: Transcript,
    scores: Mapping[tuple[str, str, str], tuple[str, str]],
) -> Iterator[tuple[str, Any]]:
    rubrics = plan.questions
    reason = problem(rubrics, transcript)
    if reason is not None:
        raise InputError(
            f"transcript {transcript.id!r} can't be shown: {reason}",
            where="the plan",
            todo="make another plan with bedside sample",
        )
    yield "external_id", item.id
    yield "dialogue", dialogue(transcript, item.unit)
    for name, text in inputs_of(rubrics, transcript).items():
        yield f"input_{name}", text
    if item.unit != TRANSCRIPT:
        yield "rated_turn", str(turn_index(item.unit))
    if plan.mode == "codes":
        for role, indices in coded_turns(rubrics, transcript).items():
            turns = dialogue(transcript)
            yield f"{role}_turns", [{"turn": str(index), **turns[index]} for index in indices]
    if plan.mode == "audit":
        for rubric in rubrics:
            score, reason = scores[item.transcript, item.unit, rubric.name]
            yield f"judge_{rubric.name}", score
            yield f"judge_reason_{rubric.name}", reason


def judge_scores(plan: AnnotationPlan, run: Run) -> dict[tuple[str, str, str], tuple[str, str]]:
    """What the plan's judge said: (transcript, unit, rubric) → the choice and the reason, of its first pass.

    Raises:
        DataError: it has not rated one of the items.
    """
    table = run.ratings
    names = [rubric.name for rubric in plan.questions]
    rows = table.filter(
        pl.col("rater") == plan.judge, pl.col("metric").is_in(names), pl.col("error").is_null()
    ).sort("replicate", maintain_order=True)
    scores: dict[tuple[str, str, str], tuple[str, str]] = {}
    columns = ("transcript_id", "unit", "metric", "value", "label", "reason")
    for transcript, unit, metric, value, label, reason in rows.select(columns).iter_rows():
        choice = label if label is not None else f"{value:g}"
        scores.setdefault((transcript, unit, metric), (choice, clean(reason or "").strip() or _NO_REASON))
    for item in plan.items:
        for rubric in plan.questions:
            score = scores.get((item.transcript, item.unit, rubric.name))
            if score is None:
                raise DataError(
                    f"{plan.judge} has not rated transcript {item.transcript!r} on {rubric.name}",
                    where=str(run.path),
                    todo="have it judged, or make another plan",
                )
            if score[0] not in [choice for choice, _ in choices(rubric)]:
                raise DataError(
                    f"{plan.judge} gave {score[0]!r} on {rubric.name}, which is not on the rubric's scale",
                    where=str(run.path),
                    todo="have it judged again, or make another plan",
                )
    return scores


def coded_positions(plan: AnnotationPlan, run: Run) -> dict[str, dict[str, list[int]]]:
    """In codes mode: item → role → indices of the turns that are coded; nothing in other modes."""
    if plan.mode != "codes":
        return {}
    rubrics = plan.questions
    items_by_transcript: dict[str, list[str]] = {}
    for item in plan.everything:
        if isinstance(item, TrainingItem) and item.content is not None:
            continue
        items_by_transcript.setdefault(item.transcript, []).append(item.id)
    positions = {
        item: coded_turns(rubrics, transcript)
        for transcript in run.transcripts()
        for item in items_by_transcript.get(transcript.id, ())
    }
    for item in plan.training:
        if item.content is not None:
            positions[item.id] = coded_turns(rubrics, parse_transcript(item.content))
    return positions

"""Judgements without words, for runs that keep no text: a judge's words may quote what it has read."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Any

from bedside.core.errors import InputError
from bedside.judges.rubrics.answer_form import RubricPart
from bedside.judges.rubrics.rubric import Rubric
from bedside.judges.store import Judgement
from bedside.ratings.table import JUDGE_ERROR


def wordless(judgement: Judgement, rubric: Rubric) -> Judgement:
    """What may be kept of a judgement: its numbers and labels, and what went wrong without what was said of it.

    The replies are counted still, as empty texts.
    """
    labels = {label.label for part in _all(rubric.parts) for label in part.labels}
    return replace(
        judgement,
        answer=None if judgement.answer is None else _blanked(judgement.answer, labels),
        error=None if judgement.error is None else _beginning(judgement.error),
        replies=("",) * len(judgement.replies),
        faults=tuple(map(_beginning, judgement.faults)),
    )


def _beginning(error: str) -> str:
    return re.sub(JUDGE_ERROR, r"\1", error)


def check_wordless(rubrics: Iterable[Rubric], followed: Collection[str]) -> None:
    """Refuse rubrics whose words metrics are made of.

    Args:
        rubrics: what is to be asked.
        followed: names of those whose answers metrics follow from.

    Raises:
        InputError: one asks for words, which can't be kept.
    """
    candidates = list(rubrics)
    wordy = [
        rubric.name
        for rubric in candidates
        if rubric.name in followed and any(part.type in ("text", "quote") for part in _all(rubric.parts))
    ]
    if wordy:
        others = ",".join(rubric.name for rubric in candidates if rubric.name not in wordy)
        raise InputError(
            f"{' and '.join(wordy)} can't be asked: metrics are made of the judge's words, and a run without text "
            "keeps none",
            todo=f"keep the text{f', or ask only `rubrics={others}`' if others else ''}",
        )


def _all(parts: Iterable[RubricPart]) -> Iterable[RubricPart]:
    for part in parts:
        yield part
        yield from _all(part.items)


def _blanked(value: Any, labels: Collection[str]) -> Any:
    if isinstance(value, str):
        return value if value in labels else ""
    if isinstance(value, dict):
        return {key: _blanked(part, labels) for key, part in value.items()}
    if isinstance(value, list):
        return [_blanked(part, labels) for part in value]
    return value

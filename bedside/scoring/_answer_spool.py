"""Answers on disk, in the order of the transcripts."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import orjson

from bedside.judges.questions import JudgeAnswer, QuestionGroup


class AnswerSpool:
    """What a judge answered, on disk in the order of the transcripts: memory holds one transcript's."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = path.open("wb")

    def add(self, group: QuestionGroup) -> None:
        """Write down a group's answers."""
        answers = [(answer.unit, answer.items, answer.answer, answer.error) for answer in group.answers]
        line = (group.transcript.id, group.number, group.question.rubric.name, answers)
        self._file.write(orjson.dumps(line) + b"\n")

    def close(self) -> None:
        """All is written."""
        self._file.close()

    def reader(self) -> AnswerReader:
        """What gives back what is written."""
        return AnswerReader(self._path)


class AnswerReader:
    """Answers in a spool, to be asked for in the order of the transcripts."""

    def __init__(self, path: Path) -> None:
        self._by_transcript = groupby(_lines(path), key=lambda line: line[0])
        self._ahead = next(self._by_transcript, None)

    def take(self, transcript: str) -> dict[int, dict[str, list[JudgeAnswer]]]:
        """What was answered of a transcript, by pass and rubric."""
        passes: dict[int, dict[str, list[JudgeAnswer]]] = {}
        if self._ahead is not None and self._ahead[0] == transcript:
            for _, number, rubric, answers in self._ahead[1]:
                passes.setdefault(number, {})[rubric] = [_answer(*fields) for fields in answers]
            self._ahead = next(self._by_transcript, None)
        return passes


def _lines(path: Path) -> Iterator[tuple[str, int, str, list[Any]]]:
    with path.open("rb") as file:
        for line in file:
            yield orjson.loads(line)


def _answer(
    unit: str, items: list[int] | None, answer: dict[str, Any] | None, error: str | None
) -> JudgeAnswer:
    return JudgeAnswer(unit, None if items is None else tuple(items), answer, error)

"""What a judge says of labelled units by the candidates of a tuning, asked through the run's store of judgements."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

import numpy as np

from bedside.judges.counts import Tally
from bedside.judges.prompt import Conversation, NotAskable, Order, Prompt, Question
from bedside.judges.questions import QuestionGroup
from bedside.judges.rubrics.rubric import Rubric
from bedside.stats.arrays import Array
from bedside.transcripts.transcript import Transcript
from bedside.tuning.label_split import LabelledUnit


class UnitGroup(QuestionGroup):
    """What a rubric asks about some units of a transcript: those that people rated.

    Args:
        conversation, question, tally: as for :class:`bedside.judges.questions.QuestionGroup`.
        units: the units.
        ratings: what takes the answers.
    """

    def __init__(
        self,
        conversation: Conversation,
        question: Question,
        tally: Tally,
        *,
        units: Collection[str],
        ratings: TrialRatings,
    ) -> None:
        super().__init__(conversation, question, 0, tally)
        self.ratings = ratings
        self._units = frozenset(units)

    def prompts(self, order: Order) -> Iterator[Prompt | NotAskable]:
        """The calls about these units."""
        return (prompt for prompt in super().prompts(order) if prompt.unit in self._units)


class TrialRatings:
    """The judge's levels and reasons by one candidate.

    Args:
        question: the rubric to ask about what is of a case; the same for all unless it has examples.
        tally: where requests are counted.
    """

    def __init__(self, question: Callable[[str], Question], tally: Tally) -> None:
        self._question = question
        self._tally = tally
        self.levels: dict[tuple[str, str], float] = {}
        self.reasons: dict[tuple[str, str], str] = {}

    def groups(
        self, units: Sequence[LabelledUnit], transcripts: Mapping[str, Transcript]
    ) -> Iterator[UnitGroup]:
        """What is asked about units, a group a transcript."""
        by_transcript: dict[str, list[LabelledUnit]] = {}
        for unit in units:
            by_transcript.setdefault(unit.transcript, []).append(unit)
        for name, of_transcript in by_transcript.items():
            question = self._question(of_transcript[0].case)
            names = [unit.unit for unit in of_transcript]
            yield UnitGroup(Conversation(transcripts[name]), question, self._tally, units=names, ratings=self)

    def take(self, group: QuestionGroup) -> None:
        """Take the answers of a group that is done; those that are none are missing."""
        for answer in group.answers:
            if answer.answer is not None and answer.answer.get("score") is not None:
                key = group.transcript.id, answer.unit
                self.levels[key] = float(answer.answer["score"])
                self.reasons[key] = str(answer.answer["reason"])

    def array(self, units: Sequence[LabelledUnit]) -> Array:
        """The level of each unit; NaN where there is none."""
        return np.array([self.levels.get(unit.key, np.nan) for unit in units], dtype=np.float64)


def one_question(rubric: Rubric) -> Callable[[str], Question]:
    """The same question about every case."""
    question = Question(rubric)
    return lambda case: question

"""Questions put to a judge, and the answers that came, with words or without."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from bedside.core.errors import InputError
from bedside.judges.ask_settings import Order
from bedside.judges.counts import RubricCount, Tally
from bedside.judges.prompt import Conversation, NotAskable, Prompt, Question
from bedside.judges.reply import Parsed, parse
from bedside.judges.rubrics.answer_form import RubricPart
from bedside.judges.rubrics.composites import Walk
from bedside.judges.rubrics.prompt_words import PromptWords, prompt_words
from bedside.judges.rubrics.rubric import Rubric
from bedside.judges.store import Judgement
from bedside.ratings.table import JUDGE_ERROR
from bedside.transcripts.transcript import Transcript

# -- Judgements without words ---------------------------------------------------------------------------


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


# -- Questions put to a judge ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class JudgeAnswer:
    """What was had of one call.

    Attributes:
        unit: ``transcript`` or ``turn:<index>``.
        items: the numbers of the items or turns asked about; None where the rubric asks one thing.
        answer: the reply, which fits the rubric; None where there is none.
        error: why there is none; None where there is one.
        expected: the expected score, where it was asked for.
        expected_note: why there is no expected score.
    """

    unit: str
    items: tuple[int, ...] | None
    answer: dict[str, Any] | None
    error: str | None
    expected: float | None = None
    expected_note: str | None = None


class AnswerGroup(ABC):
    """Answers about one transcript that belong together, and what the queue must know to get them.

    Attributes:
        transcript: the transcript.
        name: what judgements are kept by: a rubric, or a metric.
        version: of its wording.
        number: the pass.
        tally: where it is counted.
        complete: whether nothing more is going to be expected.
    """

    def __init__(self, transcript: Transcript, name: str, version: str, number: int, tally: Tally) -> None:
        self.transcript = transcript
        self.name = name
        self.version = version
        self.number = number
        self.tally = tally
        #: What is said around the question.
        self.words: PromptWords = prompt_words()
        self.complete = False
        self._answers: list[JudgeAnswer | None] = []
        self._left = 0

    @property
    def size(self) -> int:
        """How many answers there are to be; of a group that is complete, all of them."""
        return len(self._answers)

    @property
    def answers(self) -> list[JudgeAnswer]:
        """The answers in the order of the units; all of them once the group is done."""
        return [answer for answer in self._answers if answer is not None]

    @property
    def done(self) -> bool:
        """Whether every answer is there."""
        return self.complete and not self._left

    def expect(self) -> int:
        """Make place for an answer; returns its number."""
        self._answers.append(None)
        self._left += 1
        self.tally.judgements += 1
        return len(self._answers) - 1

    def put(self, place: int, answer: JudgeAnswer) -> None:
        """Put an answer in its place."""
        self._answers[place] = answer
        self._left -= 1

    @abstractmethod
    def prompts(self, order: Order) -> Iterator[Prompt | NotAskable]:
        """What is asked."""

    def planned(self, order: Order) -> Iterator[Prompt | NotAskable]:
        """What is asked at most."""
        return self.prompts(order)

    def following(self) -> Iterator[Prompt | NotAskable]:
        """What is asked beside that, now that an answer is there."""
        return iter(())

    @abstractmethod
    def read(self, text: str, prompt: Prompt) -> Parsed:
        """What a reply to a prompt says."""

    @abstractmethod
    def wordless(self, judgement: Judgement) -> Judgement:
        """What may be kept of a judgement by a run that keeps no text."""

    def levels(self, prompt: Prompt) -> Rubric | None:
        """The rubric, where a reply to the prompt is one of its levels."""
        return None


class QuestionGroup(AnswerGroup):
    """All that one pass of one rubric asks about one transcript."""

    def __init__(self, conversation: Conversation, question: Question, number: int, tally: Tally) -> None:
        super().__init__(conversation.transcript, question.rubric.name, question.version, number, tally)
        self.conversation = conversation
        self.question = question
        self.words: PromptWords = question.rubric.words

    def prompts(self, order: Order) -> Iterator[Prompt | NotAskable]:
        """The calls that the rubric takes for the transcript."""
        return self.question.prompts(self.conversation, order)

    def read(self, text: str, prompt: Prompt) -> Parsed:
        """A reply, where it fits the rubric."""
        return parse(text, self.question.rubric, counts=prompt.counts, asked=prompt.asked)

    def wordless(self, judgement: Judgement) -> Judgement:
        """The judgement's numbers and labels."""
        return wordless(judgement, self.question.rubric)

    def levels(self, prompt: Prompt) -> Rubric | None:
        """The rubric, where it asks for one level."""
        rubric = self.question.rubric
        return rubric if rubric.kind == "level" and prompt.asked is None else None


class FlowGroup(QuestionGroup):
    """All that one pass of a flow asks about one transcript: each question once the one before it is answered."""

    def __init__(self, conversation: Conversation, question: Question, number: int, tally: Tally) -> None:
        super().__init__(conversation, question, number, tally)
        self._walk = Walk(question.rubric.flow)
        self._order: Order = "transcript-first"

    def prompts(self, order: Order) -> Iterator[Prompt | NotAskable]:
        """The first question."""
        self._order = order
        return self._step.prompts(self.conversation, order)

    def planned(self, order: Order) -> Iterator[Prompt | NotAskable]:
        """All questions that a walk may come to, of which it asks some."""
        unreached = self.question.rubric.flow.unreached()
        steps = (step for place, step in enumerate(self.question.steps) if place not in unreached)
        return (prompt for step in steps for prompt in step.prompts(self.conversation, order))

    def following(self) -> Iterator[Prompt | NotAskable]:
        """The question that the last answer leads to."""
        last = self._answers[-1]
        if last is not None and last.answer is not None:
            self._walk.take(last.answer["label"])
            if self._walk.at is not None:
                yield from self._step.prompts(self.conversation, self._order)

    @property
    def _step(self) -> Question:
        assert self._walk.at is not None
        return self.question.steps[self._walk.at]

    def read(self, text: str, prompt: Prompt) -> Parsed:
        """A reply, where it answers the question."""
        return parse(text, self._step.rubric)

    def wordless(self, judgement: Judgement) -> Judgement:
        """The judgement's label."""
        return wordless(judgement, self._step.rubric)


class QuestionSet:
    """The questions put to one judge, each with its counts.

    Args:
        questions: rubrics made ready for prompts.
        passes: how often each is asked.
        spared: rubrics that needn't be asked about a transcript; all are asked about every one by default.
    """

    def __init__(
        self,
        questions: Iterable[Question],
        passes: int,
        *,
        spared: Callable[[Transcript], Collection[str]] | None = None,
    ) -> None:
        self._spared = spared or (lambda _: ())
        self.questions: dict[str, Question] = {question.rubric.name: question for question in questions}
        self.tallies: dict[str, Tally] = {name: Tally() for name in self.questions}
        self.passes = passes

    def group(self, conversation: Conversation, rubric: str, number: int) -> QuestionGroup:
        """What one pass of a rubric asks about a transcript."""
        question = self.questions[rubric]
        kind = FlowGroup if question.steps else QuestionGroup
        return kind(conversation, question, number, self.tallies[rubric])

    def groups(
        self, transcripts: Iterable[Transcript], names: Iterable[str] | None = None, *, by_pass: bool = False
    ) -> Iterator[QuestionGroup]:
        """All that is asked about transcripts: of each one rubric after the other, or one pass after the other.

        Args:
            transcripts: they are taken as they are needed.
            names: the rubrics; all by default.
            by_pass: whether all rubrics of a pass come before the next pass.
        """
        rubrics = list(self.questions if names is None else names)
        numbers = range(self.passes)
        if by_pass:
            order = [(name, number) for number in numbers for name in rubrics]
        else:
            order = [(name, number) for name in rubrics for number in numbers]
        for transcript in transcripts:
            conversation = Conversation(transcript)
            spared = self._spared(transcript)
            for name, number in order:
                if name in spared:
                    continue
                yield self.group(conversation, name, number)

    def counts(self) -> tuple[RubricCount, ...]:
        """What it took."""
        return tuple(self.tallies[name].of(name, question.version) for name, question in self.questions.items())

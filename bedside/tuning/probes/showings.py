"""What a judge is shown in a probe, and the levels that it gives: originals, changed conversations, changed rubrics."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from bedside.judges.counts import Tally
from bedside.judges.prompt import Conversation, NotAskable, Order, Prompt, PromptPiece, Question
from bedside.judges.questions import QuestionGroup
from bedside.judges.rubric_ratings import NOT_APPLICABLE
from bedside.transcripts.transcript import Transcript
from bedside.tuning.probes.contract import Altered


def reworded(prompt: Prompt, reword: Callable[[str], str]) -> Prompt | NotAskable:
    """A finished prompt in other words; it can't be asked where nothing in it changes."""
    text = reword(prompt.text)
    if text == prompt.text:
        return NotAskable(prompt.unit, prompt.asked, "nothing in the prompt changes")
    return replace(prompt, pieces=(PromptPiece(text),))


@dataclass(slots=True)
class Showing:
    """A conversation and rubric as a judge is shown them, and what it says.

    Attributes:
        altered: what is shown.
        name: what the store's entries call the conversation: an altered one never by the name of the original.
        first, last: the passes, from the first to before the last.
        levels: by pass.
        error: why a level is missing.
        digest: of the prompt; None where nothing could be asked.
    """

    altered: Altered
    name: str
    first: int
    last: int
    levels: dict[int, float] = field(default_factory=dict)
    error: str | None = None
    digest: str | None = None

    @property
    def transcript(self) -> Transcript:
        """The conversation, by the name that the store knows it by."""
        return replace(self.altered.transcript, id=self.name)

    def groups(self, conversation: Conversation, question: Question, tally: Tally) -> Iterator[ShownGroup]:
        """What is asked, pass by pass."""
        for number in range(self.first, self.last):
            yield ShownGroup(self, conversation, question, number, tally)

    def mean(self, first: int, last: int) -> float | None:
        """The mean level of some passes; None where one is missing."""
        levels = [self.levels.get(number) for number in range(first, last)]
        present = [level for level in levels if level is not None]
        return sum(present) / len(present) if len(present) == len(levels) else None


class ShownGroup(QuestionGroup):
    """One pass of what a judge is shown."""

    def __init__(
        self, shown: Showing, conversation: Conversation, question: Question, number: int, tally: Tally
    ) -> None:
        super().__init__(conversation, question, number, tally)
        self.shown = shown

    def prompts(self, order: Order) -> Iterator[Prompt | NotAskable]:
        """The call, in the words it is to have; its digest is noted."""
        reword = self.shown.altered.reword
        for prompt in super().prompts(order):
            if reword is not None and isinstance(prompt, Prompt):
                prompt = reworded(prompt, reword)
            if isinstance(prompt, Prompt):
                self.shown.digest = prompt.digest()
            yield prompt

    def take(self) -> None:
        """Take the judge's answer."""
        shown = self.shown
        for answer in self.answers:
            if answer.answer is None:
                shown.error = answer.error
            elif answer.answer["score"] is None:
                shown.error = NOT_APPLICABLE
            else:
                level, back = float(answer.answer["score"]), shown.altered.level
                said = level if back is None else back(level)
                shown.levels[self.number] = shown.altered.rubric.recorded_level(said)

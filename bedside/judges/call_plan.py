"""What asking a judge would take."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from bedside.judges.counts import Tally
from bedside.judges.llm.batch_files import KEY_DIGITS, key_of
from bedside.judges.llm.contract import known_price
from bedside.judges.llm.model_names import ModelName
from bedside.judges.prompt import NotAskable, Prompt
from bedside.judges.questions import AnswerGroup, QuestionSet
from bedside.judges.raters import rubric_rater
from bedside.judges.rubrics.rubric import Rubric
from bedside.judges.settings import JudgeSettings
from bedside.judges.store import judgement_key, key_parameters, stored_keys
from bedside.ratings.run import batches_under_way
from bedside.transcripts.transcript import Transcript


@dataclass(frozen=True, slots=True)
class RubricPlan:
    """What judging by one rubric would take.

    Attributes:
        rubric: its name.
        judge: the rater.
        calls: requests, if every reply can be used at once.
        stored: judgements that are there already and cost nothing.
        not_askable: what can't be asked, as for a missing input.
        input_tokens: of the prompts, estimated.
        output_tokens: of the replies, estimated roughly.
        cost: in US dollars, of the estimates; None where the price isn't known.
        under_way: of the calls, those that wait for a batch at the provider.
    """

    rubric: str
    judge: str
    calls: int
    stored: int
    not_askable: int
    input_tokens: int
    output_tokens: int
    cost: float | None
    under_way: int = 0


class CallPlanner:
    """Counts what would be sent to a judge, beside what a store holds. Nothing is sent, and no key is needed.

    Args:
        name: the judge's.
        settings: how it would be asked.
        store_path: the store; it need not be there.
    """

    def __init__(self, name: ModelName, settings: JudgeSettings, store_path: Path) -> None:
        self._name = name
        self._settings = settings
        self._parameters = key_parameters(settings.sampling(name))
        self._price = settings.price or known_price(name)
        #: Of judgements that are there, or counted already.
        self._keys = stored_keys(store_path, max_tokens=settings.max_tokens)
        batches = batches_under_way(store_path.parent)
        self._under_way = {key_of(call) for judge, calls in batches if judge == name.identity for call in calls}

    def key(self, prompt: Prompt, number: int) -> str:
        """The key of a judgement."""
        return judgement_key(self._name.identity, self._parameters, prompt.digest(), number)

    def askable(self, prompt: Prompt | NotAskable) -> bool:
        """Whether it would be sent."""
        limit = self._settings.max_prompt_tokens
        return isinstance(prompt, Prompt) and (limit is None or prompt.tokens <= limit)

    def count(self, group: AnswerGroup, tally: Tally | None = None) -> None:
        """Count what a group asks, in its own tally or another."""
        tally = group.tally if tally is None else tally
        for prompt in group.planned(self._settings.order):
            if not isinstance(prompt, Prompt) or not self.askable(prompt):
                tally.not_askable += 1
                continue
            key = self.key(prompt, group.number)
            if key in self._keys:
                tally.stored += 1
                continue
            self._keys.add(key)
            tally.calls += 1
            tally.not_asked += key[:KEY_DIGITS] in self._under_way
            tally.input_tokens += prompt.tokens
            tally.output_tokens += prompt.reply_tokens

    def plan(self, rubric: str, tally: Tally, rubrics: Iterable[Rubric] = ()) -> RubricPlan:
        """What a rubric's counts come to; a judge by ``rubrics`` is another rater where one is tuned."""
        return RubricPlan(
            rubric,
            rubric_rater(self._name, rubrics),
            tally.calls,
            tally.stored,
            tally.not_askable,
            tally.input_tokens,
            tally.output_tokens,
            None if self._price is None else self._price.of(tally.input_tokens, tally.output_tokens),
            tally.not_asked,
        )

    def plans(
        self, questions: QuestionSet, transcripts: Iterable[Transcript], names: Iterable[str] | None = None
    ) -> tuple[RubricPlan, ...]:
        """What asking about transcripts would take, by rubric; arguments as for :meth:`QuestionSet.groups`."""
        rubrics = tuple(questions.questions if names is None else names)
        for group in questions.groups(transcripts, rubrics):
            self.count(group)
        asked = [question.rubric for question in questions.questions.values()]
        return tuple(self.plan(rubric, questions.tallies[rubric], asked) for rubric in rubrics)

"""What judging a run would send, before anything is sent."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from bedside.core.errors import DataError
from bedside.core.words import Names, listed
from bedside.judges.call_plan import CallPlanner, RubricPlan
from bedside.judges.counts import Tally
from bedside.judges.deepeval_raters.ratings import plan_deepeval
from bedside.judges.llm.contract import batch_price
from bedside.judges.llm.endpoints import named_models
from bedside.judges.prompt import Conversation, Prompt, Question
from bedside.judges.questions import JudgeAnswer, QuestionSet
from bedside.judges.settings import JudgeSettings
from bedside.judges.store import read_judgements
from bedside.judges.turn_codes import plan_coding
from bedside.ratings.run import Run
from bedside.scoring.judging_orders import STORE, JudgingOrder, JudgingWork
from bedside.scoring.pair_judging import PairJudging
from bedside.scoring.pipeline import LaterQuestion, later_questions, pipelines_for, spared_by
from bedside.scoring.run_transcripts import TranscriptSource, kept_transcripts, read_again, without_failed
from bedside.transcripts.memory_reading import TranscriptInput
from bedside.transcripts.read_options import ReadOptions
from bedside.transcripts.transcript import Transcript

#: Follows a rubric's name in a plan where its calls can't be known before others are answered.
ESTIMATED = " (estimated)"


def preview_judging(
    out: Path,
    transcripts: TranscriptInput | None,
    judges: Names,
    work: JudgingWork,
    *,
    options: ReadOptions | None = None,
    settings: JudgeSettings | None = None,
    batch: bool = False,
) -> tuple[RubricPlan, ...]:
    """What :func:`bedside.scoring.run_judging.judge_run` would send; nothing is sent or written.

    What waits for answers that aren't there yet is estimated, and its plan's rubric ends in :data:`ESTIMATED`.

    Args:
        out: the run's folder; it need not be there.
        transcripts: the files, or the transcripts in memory, that the run is scored from; None for what it keeps.
        judges: models, see :mod:`bedside.judges.llm.endpoints`.
        work: what is asked.
        options: how to read the files.
        settings: passes, limits and the like.
        batch: whether it is sent in batches, for their price.
    """
    plans: list[RubricPlan] = []
    source = kept_transcripts(Run(out)) if transcripts is None else read_again(transcripts, options)
    for name in named_models(listed(judges, "judges")):
        order = JudgingOrder(name, work, settings or JudgeSettings())
        if batch:
            order = replace(order, settings=replace(order.settings, price=batch_price(name, order.settings.price)))
        asked = without_failed(source)
        if work.pairs is not None:
            plans += PairJudging(Run(out), order).plans(out / STORE)
            continue
        if work.deepeval:
            plans += plan_deepeval(source(), name, work.deepeval, store_path=out / STORE, settings=order.settings)
        if work.codes:
            plans += plan_coding(source(), name, store_path=out / STORE, codes=work.codes, settings=order.settings)
        elif work.rubrics:
            plans += _Preview(order, out / STORE).plans(asked)
    return tuple(plans)


class _Preview:
    """Plans a judge's rating of a run.

    What waits for answers is planned exactly where these are kept already, else with a stand-in for them.
    """

    def __init__(self, order: JudgingOrder, store: Path) -> None:
        asked = {rubric.name for rubric in order.work.rubrics}
        pipelines = pipelines_for(asked)
        self._later = later_questions(pipelines, asked)
        self._settings = order.settings
        self._questions = QuestionSet(
            map(Question, order.work.rubrics),
            order.settings.passes,
            spared=spared_by(pipelines) if order.work.from_suite else None,
        )
        self._planner = CallPlanner(order.judge, order.settings, store)
        followed = {later.after for later in self._later.values()}
        self._stored = {
            judgement.key: JudgeAnswer(judgement.unit, judgement.items, judgement.answer, judgement.error)
            for judgement in (read_judgements(store) if followed else ())
            if not judgement.to_ask_again(order.settings.max_tokens) and judgement.rubric in followed
        }

    def plans(self, transcripts: TranscriptSource) -> list[RubricPlan]:
        """The plan of each rubric; of one that waits, that of what is stored and that of what is estimated."""
        at_once = [name for name in self._questions.questions if name not in self._later]
        plans = [*self._planner.plans(self._questions, transcripts(), at_once)]
        for later in self._later.values():
            plans += self._later_plans(transcripts(), later)
        return plans

    def _later_plans(self, transcripts: Iterable[Transcript], later: LaterQuestion) -> list[RubricPlan]:
        exact, estimated = Tally(), Tally()
        for transcript in transcripts:
            conversation = Conversation(transcript)
            for number in range(self._settings.passes):
                answers = self._stored_answers(conversation, later.after, number)
                tally = exact
                try:
                    value = later.find(transcript, answers or {})
                except DataError:
                    if answers is not None:
                        exact.not_askable += 1
                        continue
                    tally, value = estimated, later.expect(transcript)
                asked = Conversation(later.with_input(transcript, value))
                self._planner.count(self._questions.group(asked, later.rubric, number), tally)
        return [
            self._planner.plan(later.rubric + ending, tally)
            for tally, ending in ((exact, ""), (estimated, ESTIMATED))
            if tally != Tally()
        ]

    def _stored_answers(
        self, conversation: Conversation, rubric: str, number: int
    ) -> dict[str, list[JudgeAnswer]] | None:
        """What is stored of a rubric's answers; None where some is to be asked still."""
        answers = []
        for prompt in self._questions.questions[rubric].prompts(conversation, self._settings.order):
            answer: JudgeAnswer | None
            if isinstance(prompt, Prompt) and self._planner.askable(prompt):
                answer = self._stored.get(self._planner.key(prompt, number))
            else:
                answer = JudgeAnswer(prompt.unit, prompt.asked, None, "it can't be asked")
            if answer is None:
                return None
            answers.append(answer)
        return {rubric: answers}

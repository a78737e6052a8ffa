"""Coding by a judge: a language model gives behaviour codes to turns, some turns a call, by a codebook of examples.

Each code is a rubric of its own that asks about every turn of a role, so that a code can be added later and only its
calls are paid for. A call shows the turns it asks about, those between them and a few before; what is asked, kept and
asked again is the engine's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Unpack

from bedside.core.errors import InputError
from bedside.judges.ask_settings import Order
from bedside.judges.call_plan import CallPlanner, RubricPlan
from bedside.judges.counts import JudgingProgress, JudgingSummary
from bedside.judges.judgement_queue import JudgeAccess, JudgingStage, ask_judge
from bedside.judges.llm.endpoints import model_name
from bedside.judges.llm.model_names import ModelName
from bedside.judges.prompt import Conversation, NotAskable, Prompt, Question
from bedside.judges.questions import QuestionGroup, QuestionSet
from bedside.judges.raters import RatingRows, coding_rater
from bedside.judges.rubric_ratings import ratings_of
from bedside.judges.rubrics.rubric import Rubric
from bedside.judges.rubrics.rubric_files import CODEBOOK
from bedside.judges.settings import JudgeSettings, check_numbers
from bedside.metrics.coders.people import people_codes
from bedside.metrics.coders.session_measures import EARLY_TURNS, MEASURES
from bedside.metrics.coders.testing.coder_test import CoderTest, ExistingCodes, evaluate_coder
from bedside.metrics.families.behaviour import FAMILY
from bedside.ratings.names import TRANSCRIPT, turn_index
from bedside.ratings.table import RatingRow
from bedside.ratings.values import Value
from bedside.transcripts.transcript import CODES, Transcript

TURNS_PER_CALL = 12
CONTEXT = 3


# -- the codebook -----------------------------------------------------------------------------------


# -- prompts ----------------------------------------------------------------------------------------


class CodeQuestion(Question):
    """A code made ready for prompts that ask about some turns and show few others.

    Args:
        rubric: the code's.
        turns_per_call: how many turns one call asks about.
        context: how many turns are shown before the first of them.
    """

    def __init__(self, rubric: Rubric, turns_per_call: int, context: int) -> None:
        super().__init__(rubric, turns_per_call)
        self.context = context

    def prompts(self, conversation: Conversation, order: Order = "transcript-first") -> Iterator[Prompt | NotAskable]:
        """The calls that this code takes for a transcript, in the order of its turns."""
        transcript = conversation.transcript
        turns = [turn for turn in transcript.turns if turn.role == self.rubric.role]
        problem = self.problem(transcript, turns)
        if problem is not None:
            yield NotAskable(TRANSCRIPT, None, problem)
            return
        for at in range(0, len(turns), self.items_per_call):
            asked = tuple(turn.index for turn in turns[at : at + self.items_per_call])
            part = transcript.turns[max(0, asked[0] - self.context) : asked[-1] + 1]
            yield self._prompt(Conversation(replace(transcript, turns=part)), None, TRANSCRIPT, asked, order)


# -- coding -----------------------------------------------------------------------------------------


def code_transcripts(
    transcripts: Iterable[Transcript],
    judge: str | ModelName,
    *,
    store_path: Path,
    add: Callable[[RatingRow], object],
    codes: Sequence[str] = tuple(CODES),
    turns_per_call: int = TURNS_PER_CALL,
    context: int = CONTEXT,
    settings: JudgeSettings | None = None,
    progress: Callable[[JudgingProgress], None] | None = None,
    count: int | None = None,
    **access: Unpack[JudgeAccess],
) -> JudgingSummary:
    """Have a language model give behaviour codes to turns.

    Rows come by transcript and pass: the codes of its turns (``question`` and so on, with the judge's reason, or
    missing with the cause), and then the session measures of :mod:`bedside.metrics.families.behaviour` that these
    codes allow, taken over the turns that were coded. The rater of all of them is ``judge:<model>+codebook``.

    Args:
        transcripts: any number of them; they are taken as they are needed.
        judge: the model, see :mod:`bedside.judges.llm.contract`.
        store_path: the file that keeps judgements; made if it isn't there.
        add: called with each row.
        codes: which codes; each is asked about on its own.
        turns_per_call: how many turns one call asks about.
        context: how many turns, of whatever role, are shown before the first of them.
        settings: passes, limits and the like.
        progress, access: as for :func:`bedside.judges.judgement_queue.ask_judge`.
        count: how many transcripts there are, for the progress.

    Raises:
        RegistryError: the judge's name is none, or there is no such code.
        MissingExtraError: the libraries for it aren't installed.
        LanguageModelError: the judge can't be asked. What was finished is kept.
        RunError: the store can't be used.
        InputError: an argument is out of range.
    """
    name, settings = model_name(judge), settings or JudgeSettings()
    questions = _questions(codes, turns_per_call, context, settings)
    rows = _CodeRows(coding_rater(name), questions, add)
    size = None if count is None else count * len(questions.questions) * settings.passes
    stage = JudgingStage(lambda: questions.groups(transcripts, by_pass=True), rows.emit, size)
    calls = ask_judge(name, settings, store_path, [stage], progress=progress, **access)
    parameters = {
        **settings.sampling().parameters(),
        "order": settings.order,
        "turns_per_call": turns_per_call,
        "context": context,
    }
    return JudgingSummary(
        rater=rows.rater,
        parameters=parameters,
        passes=settings.passes,
        rubrics=questions.counts(),
        ratings=rows.count,
        calls=calls,
    )


def plan_coding(
    transcripts: Iterable[Transcript],
    judge: str | ModelName,
    *,
    store_path: Path,
    codes: Sequence[str] = tuple(CODES),
    turns_per_call: int = TURNS_PER_CALL,
    context: int = CONTEXT,
    settings: JudgeSettings | None = None,
) -> tuple[RubricPlan, ...]:
    """What :func:`code_transcripts` with the same arguments would send; nothing is sent, and no key is needed."""
    name, settings = model_name(judge), settings or JudgeSettings()
    questions = _questions(codes, turns_per_call, context, settings)
    plans = CallPlanner(name, settings, store_path).plans(questions, transcripts)
    return tuple(replace(plan, judge=coding_rater(name)) for plan in plans)


def _questions(codes: Sequence[str], turns_per_call: int, context: int, settings: JudgeSettings) -> QuestionSet:
    check_numbers(turns_per_call=turns_per_call)
    if context < 0:
        raise InputError(f"`context` must be 0 or more, and is {context}")
    if not codes:
        raise InputError("no codes are named", todo=f"name some of {', '.join(CODES)} with `codes`")
    questions = (CodeQuestion(CODEBOOK.load(code), turns_per_call, context) for code in dict.fromkeys(codes))
    return QuestionSet(questions, settings.passes)


class _CodeRows(RatingRows):
    """Makes rows of the groups that come out: of each the codes, and after a pass's last code the measures."""

    def __init__(self, rater: str, questions: QuestionSet, add: Callable[[RatingRow], object]) -> None:
        super().__init__(rater, add)
        codes = list(questions.questions)
        self._last = codes[-1]
        self._measures = frozenset(measure.name for measure in MEASURES if {*codes} >= {*measure.codes})
        #: Of the transcript and pass at hand: turn index → code → label.
        self._codes: dict[int, dict[str, str]] = {}

    def emit(self, group: QuestionGroup) -> None:
        transcript, rubric = group.transcript, group.question.rubric
        for unit, metric, _, label, reason, error in ratings_of(rubric, transcript, group.answers):
            self.add(transcript, group.number, unit, metric, None, label, reason, error)
            if label is not None:
                self._codes.setdefault(turn_index(unit), {})[metric] = label
        if rubric.name == self._last:
            for value in _measured(transcript, self._codes, self._measures):
                cells = (value.value, None, value.reason, value.error)
                self.add(transcript, group.number, TRANSCRIPT, value.metric, *cells)
            self._codes = {}


def _measured(
    transcript: Transcript, codes: Mapping[int, Mapping[str, str]], measures: frozenset[str]
) -> Iterable[Value]:
    """The measures of behaviour from these codes: they are put where a person's would stand."""
    turns = tuple(
        replace(turn, meta={"codes": {"judge": codes[turn.index]}} if turn.index in codes else {})
        for turn in transcript.turns
    )
    settings = FAMILY.settings({"coders": "human", "early_turns": EARLY_TURNS})
    return FAMILY.compute(replace(transcript, turns=turns), measures, **settings)


# -- evaluation -------------------------------------------------------------------------------------


def coded_by_people(transcripts: Iterable[Transcript], codes: Sequence[str]) -> Iterator[Transcript]:
    """Those transcripts in which somebody gave one of the codes to a turn."""
    for transcript in transcripts:
        turns = (labels for by_turn in people_codes(transcript).values() for labels in by_turn.values())
        if any(code in labels for labels in turns for code in codes):
            yield transcript


def evaluate_judge(
    transcripts: Iterable[Transcript],
    judge: str | ModelName,
    *,
    store_path: Path,
    codes: Sequence[str] = tuple(CODES),
    turns_per_call: int = TURNS_PER_CALL,
    context: int = CONTEXT,
    settings: JudgeSettings | None = None,
    progress: Callable[[JudgingProgress], None] | None = None,
) -> tuple[CoderTest, JudgingSummary]:
    """A judge's codes against people's, as :func:`~bedside.metrics.coders.testing.coder_test.evaluate_coder` of one.

    Only transcripts that people coded are sent; what people said of them is not.

    Args:
        transcripts: with people's codes in ``meta["codes"]``; they are kept in memory.
        judge: the model.
        store_path: the file that keeps judgements; the same call again asks only what is missing.
        codes: which codes.
        turns_per_call, context, progress: as for :func:`code_transcripts`.
        settings: limits and the like; it is asked once.

    Raises:
        DataError: no transcript has people's codes, or the judge coded nothing.
        BedsideError: as :func:`code_transcripts` does.
    """
    kept = list(transcripts)
    labels: dict[str, dict[int, dict[str, str]]] = {transcript.id: {} for transcript in kept}
    causes: dict[str, str] = {}

    def take(row: RatingRow) -> None:
        if row.label is not None:
            labels[row.transcript_id].setdefault(turn_index(row.unit), {})[row.metric] = row.label
        elif row.metric in CODES:
            causes.setdefault(row.transcript_id, row.error or "")

    judged = code_transcripts(
        coded_by_people(kept, codes),
        judge,
        store_path=store_path,
        add=take,
        codes=codes,
        turns_per_call=turns_per_call,
        context=context,
        settings=replace(settings or JudgeSettings(), passes=1),
        progress=progress,
    )
    return evaluate_coder(kept, ExistingCodes(judged.rater, tuple(codes), labels, causes)), judged

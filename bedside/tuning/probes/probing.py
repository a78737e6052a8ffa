"""Probing a judge on a run: what is asked, through the run's store of judgements, and what is kept of it."""

from __future__ import annotations

import random
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import polars as pl

from bedside.core.errors import InputError
from bedside.judges.call_plan import CallPlanner, RubricPlan
from bedside.judges.counts import JudgingProgress, JudgingSummary, RubricCount, Tally
from bedside.judges.judgement_queue import JudgingStage, ask_judge
from bedside.judges.llm.model_names import ModelName
from bedside.judges.llm.protocol import Client
from bedside.judges.llm.spending import CostLimit
from bedside.judges.prompt import ITEMS_PER_CALL, Prompt
from bedside.judges.questions import JudgeAnswer, QuestionGroup
from bedside.judges.raters import rater_of
from bedside.judges.rubric_ratings import asked_with
from bedside.judges.rubrics.rubric import Rubric
from bedside.judges.settings import JudgeSettings, check_numbers
from bedside.judges.store import judgement_key, key_parameters, read_judgements
from bedside.ratings.run import Run
from bedside.scoring.judging_orders import STORE
from bedside.scoring.preview import ESTIMATED
from bedside.scoring.run_transcripts import run_versions
from bedside.transcripts.transcript import Transcript
from bedside.tuning.probes.contract import Need, Probe
from bedside.tuning.probes.probe_record import ProbeRecord, keep_record
from bedside.tuning.probes.probe_trials import ProbeTrials, check_probeable
from bedside.tuning.probes.turn_texts import (
    PassageQuestions,
    PassageText,
    ShownGroup,
    of_rubric,
    of_turns,
    paraphrase_rubric,
    paraphrased,
    text_language,
    translated,
    translation_rubric,
)

# -- Which transcripts a judge is probed on -------------------------------------------------------------


def probe_sample(index: pl.DataFrame, size: int, seed: int) -> list[str]:
    """Ids of transcripts, in the order of the table.

    Systems take turns until the size is reached or all transcripts are in; of a system, a case comes next of which
    fewest transcripts are in already, as effects are known by case.

    Args:
        index: columns ``id, system, case_id``, one row a transcript.
        size: how many, at most.
        seed: of the draws.
    """
    draws = random.Random(seed)
    rows = list(index.select("id", "system", "case_id").iter_rows())
    shuffled = draws.sample(rows, len(rows))
    waiting: dict[str | None, deque[tuple[str, str | None]]] = defaultdict(deque)
    for name, system, case in shuffled:
        waiting[system].append((name, case))
    turns = deque(sorted(waiting, key=lambda system: (system is None, system)))
    chosen: set[str] = set()
    used: dict[str, int] = defaultdict(int)
    while turns and len(chosen) < size:
        system = turns.popleft()
        queue = waiting[system]
        name, case = min(queue, key=lambda entry: 0 if entry[1] is None else used[entry[1]])
        queue.remove((name, case))
        chosen.add(name)
        if case is not None:
            used[case] += 1
        if queue:
            turns.append(system)
    return [name for name, _, _ in rows if name in chosen]


# -- What probes need that nobody wrote beforehand ------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PassageWriting:
    """Passages that one model is asked for.

    Attributes:
        title: what they are, for tables.
        model: who writes them.
        questions: what is asked.
    """

    title: str
    model: ModelName
    questions: PassageQuestions

    def fill(self, planner: CallPlanner, answers: Mapping[str, JudgeAnswer], settings: JudgeSettings) -> bool:
        """Count what is to be asked, and take what was answered before; whether that is all.

        Args:
            planner: counts.
            answers: of the store, by key.
            settings: how the model is asked.
        """
        complete = True
        for group in self.questions.groups():
            complete = _filled(group, planner, answers, settings) and complete
            if group.done:
                self.questions.emit(group)
            planner.count(group)
        return complete


def _filled(
    group: QuestionGroup, planner: CallPlanner, answers: Mapping[str, JudgeAnswer], settings: JudgeSettings
) -> bool:
    """Put stored answers into a group; whether there is one to each of its questions."""
    for prompt in group.prompts(settings.order):
        if not isinstance(prompt, Prompt) or not planner.askable(prompt):
            continue
        answer = answers.get(planner.key(prompt, group.number))
        if answer is None:
            return False
        group.put(group.expect(), answer)
    group.complete = True
    return True


class ProbeAids:
    """Translations and paraphrases for a sample.

    Args:
        transcripts: the sample.
        rubrics: what the judge rates by.
        judge: who paraphrases; None where no paraphrase is needed.
        translator: who translates; None for nobody.
        language: what is translated into; None for English, and of English conversations Chinese.
        translations: translated conversations of the user's, by the ids of the originals.

    Attributes:
        writings: what models are asked for.
        languages: that a model translates into.
    """

    def __init__(
        self,
        transcripts: Sequence[Transcript],
        rubrics: Sequence[Rubric],
        *,
        judge: ModelName | None,
        translator: ModelName | None,
        language: str | None,
        translations: Mapping[str, Transcript] | None,
    ) -> None:
        self._transcripts, self._rubrics, self._own = transcripts, rubrics, translations
        self._targets = {transcript.id: language or _other_language(transcript) for transcript in transcripts}
        self._translating: dict[str, PassageQuestions] = {}
        if translator is not None:
            for target in sorted(set(self._targets.values())):
                texts = [of_turns(each, target) for each in transcripts if self._targets[each.id] == target]
                self._translating[target] = PassageQuestions(translation_rubric(target), texts)
        self._paraphrasing: PassageQuestions | None = None
        if judge is not None:
            self._paraphrasing = PassageQuestions(paraphrase_rubric(), map(of_rubric, rubrics))
        self.languages: tuple[str, ...] = tuple(self._translating)
        self.writings: tuple[PassageWriting, ...] = tuple(self._writings(judge, translator))

    def _writings(self, judge: ModelName | None, translator: ModelName | None) -> Iterator[PassageWriting]:
        for target, questions in self._translating.items():
            assert translator is not None
            yield PassageWriting(f"translation into {target}", translator, questions)
        if self._paraphrasing is not None:
            assert judge is not None
            yield PassageWriting("paraphrase of rubrics", judge, self._paraphrasing)

    def translations(self, *, estimate: bool = False) -> dict[str, Transcript | str]:
        """By transcript the conversation in another language, or why there is none.

        Args:
            estimate: whether something stands in for what isn't written yet, so that calls can be counted.
        """
        written: dict[str, Transcript | str] = {}
        for transcript in self._transcripts:
            if self._own is not None:
                written[transcript.id] = _matching(transcript, self._own.get(transcript.id))
                continue
            target = self._targets[transcript.id]
            if target in self._translating:
                text = of_turns(transcript, target)
                texts = _written(self._translating[target], text, estimate)
                written[transcript.id] = texts if isinstance(texts, str) else translated(transcript, target, texts)
        return written

    def paraphrases(self, *, estimate: bool = False) -> dict[str, Rubric | str]:
        """By rubric the rubric in other words, or why there are none; ``estimate`` as for :meth:`translations`."""
        rubrics: dict[str, Rubric | str] = {}
        if self._paraphrasing is not None:
            for rubric in self._rubrics:
                texts = _written(self._paraphrasing, of_rubric(rubric), estimate)
                rubrics[rubric.name] = texts if isinstance(texts, str) else paraphrased(rubric, texts)
        return rubrics


def _other_language(transcript: Transcript) -> str:
    """English, and of English conversations Chinese."""
    language, remark = text_language(transcript)
    return "zh" if language == "en" and remark is None else "en"


def _written(questions: PassageQuestions, text: PassageText, estimate: bool) -> tuple[str, ...] | str:
    texts = questions.written(text)
    if estimate and text.name not in questions.texts:
        return tuple(f"~ {words}" for _, words in text.passages)
    return texts


def _matching(transcript: Transcript, translation: Transcript | None) -> Transcript | str:
    """A translation of the user's, where it has the same turns of the same roles."""
    if translation is None:
        return "the files have none of this transcript"
    roles = [turn.role for turn in transcript.turns]
    if [turn.role for turn in translation.turns] != roles:
        return "the translation in the files has other turns or roles"
    return translated(transcript, translation.language or "", [turn.text for turn in translation.turns])


# -- Probing a judge on a run ---------------------------------------------------------------------------

#: Called with who is asked and how far they are.
ProbingWatch = Callable[[str, JudgingProgress], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeOrder:
    """What a judge is probed with, and how it is asked.

    Attributes:
        judge: the model.
        rubrics: what it rates by; each gives a whole conversation one level.
        probes: which changes are made.
        settings: how it is asked; ``passes`` is how often each prompt is, the originals twice as often.
        transcripts: how many are drawn.
        seed: of the sample, and of what changes draw.
        margin: by how much a level may move and still count as where it was; None for half a level.
        translator: the model that translates; None for none.
        language: what it translates into; None for English, and of English conversations Chinese.
        translations: translated conversations, by the ids of the originals, in place of a translator's.
    """

    judge: ModelName
    rubrics: tuple[Rubric, ...]
    probes: tuple[Probe, ...]
    settings: JudgeSettings
    transcripts: int = 30
    seed: int = 0
    margin: float | None = None
    translator: ModelName | None = None
    language: str | None = None
    translations: Mapping[str, Transcript] | None = None

    def __post_init__(self) -> None:
        check_numbers(transcripts=self.transcripts)
        check_probeable(self.rubrics)
        if self.margin is not None and not self.margin > 0:
            raise InputError(f"a margin of {self.margin:g} allows nothing", where="`margin`", todo="give more than 0")
        if self.translator is not None and self.translations is not None:
            raise InputError(
                "translations are there, and a model is to make some", where="`translator`", todo="leave one out"
            )

    @property
    def models(self) -> Iterator[ModelName]:
        """The models that are asked: the judge, and the translator where something needs it."""
        yield self.judge
        if self.translator is not None and self.needs("translation"):
            yield self.translator

    def needs(self, need: Need) -> bool:
        """Whether some change needs translations, or paraphrases."""
        return any(variant.needs == need for probe in self.probes for variant in probe.variants)


@dataclass(frozen=True, slots=True)
class Probed:
    """What probing did.

    Attributes:
        record: what was kept in the run.
        judged: what was asked of the judge and the translator, and what it took.
    """

    record: ProbeRecord
    judged: tuple[JudgingSummary, ...]


def probe_judge(
    run: Run,
    order: ProbeOrder,
    *,
    progress: ProbingWatch | None = None,
    client: Callable[[], Client] | None = None,
    budget: CostLimit | None = None,
) -> Probed:
    """Probe a judge on a sample of a run's transcripts, and keep what came of it in the run.

    Every judgement is in the run's store as soon as it is made: the same call after a stop asks only what is missing.
    No rating joins the run, and no altered conversation.

    Args:
        run: the run.
        order: what is asked, and how.
        progress: called with who is asked and how far they are.
        client: opens what is asked in place of the models that the order names.
        budget: what judges may cost, and have sent, where that is more than this order's; its own unless given.

    Raises:
        LanguageModelError: a model can't be asked; what was finished is kept.
        InputError: the run keeps no text.
    """
    with run.locked():
        probing = _Probing(run, order, progress, client, budget)
        probing.ask()
        record = probing.record()
        keep_record(run, record)
    return Probed(record, probing.summaries())


def preview_probing(run: Run, order: ProbeOrder) -> tuple[RubricPlan, ...]:
    """What :func:`probe_judge` would send; nothing is sent or written.

    Where translations or paraphrases aren't there yet, the plan's rubric ends in
    :data:`~bedside.scoring.preview.ESTIMATED`.
    """
    return _Probing(run, order).plans()


class _Probing:
    """One judge's probing."""

    def __init__(
        self,
        run: Run,
        order: ProbeOrder,
        progress: ProbingWatch | None = None,
        client: Callable[[], Client] | None = None,
        budget: CostLimit | None = None,
    ) -> None:
        if not run.keeps_text:
            raise InputError(
                "the run keeps no text, and what a judge was shown could not be traced",
                where=str(run.path),
                todo="score again into a new run with bedside score, without `text=False`",
            )
        self._run, self._order, self._progress, self._client = run, order, progress, client
        self._store = run.path / STORE
        names = probe_sample(run.index, order.transcripts, order.seed)
        self._sample = tuple(run.transcript(name) for name in names)
        self._budget = budget or CostLimit(order.settings.max_cost)
        self._tallies = {rubric.name: Tally() for rubric in order.rubrics}
        self._aids = ProbeAids(
            self._sample,
            order.rubrics,
            judge=order.judge if order.needs("paraphrase") else None,
            translator=order.translator if order.needs("translation") else None,
            language=order.language,
            translations=order.translations,
        )
        self._trials = self._trials_with(estimate=False)

    def _trials_with(self, *, estimate: bool) -> ProbeTrials:
        """The trials, with the translations and paraphrases there are, or with stand-ins for those to come."""
        return ProbeTrials(
            self._sample,
            self._order.rubrics,
            self._asked_probes(),
            self._order.settings.passes,
            self._order.seed,
            self._aids.translations(estimate=estimate),
            self._aids.paraphrases(estimate=estimate),
        )

    def _asked_probes(self) -> tuple[Probe, ...]:
        """The probes, without those that need translations where nobody makes any."""
        order = self._order
        if order.translator is not None or order.translations is not None:
            return order.probes
        return tuple(
            probe for probe in order.probes if not all(variant.needs == "translation" for variant in probe.variants)
        )

    # -- asking ----------------------------------------------------------------------------------------

    def ask(self) -> None:
        """Have passages written, and show the judge all that it is to be shown."""
        once = replace(self._order.settings, passes=1)
        for writing in self._aids.writings:
            asked = writing.questions
            self._put(writing.model, JudgingStage(asked.groups, asked.emit, len(asked.asked)), once)
        self._trials = self._trials_with(estimate=False)

        def emit(group: QuestionGroup) -> None:
            assert isinstance(group, ShownGroup)
            group.take()

        stage = JudgingStage(lambda: self._trials.groups(self._tallies), emit, self._trials.most_groups)
        self._put(self._order.judge, stage, self._order.settings)

    def _put(self, name: ModelName, stage: JudgingStage, settings: JudgeSettings) -> None:
        """Put questions to a model, within the limits of everything that is asked."""
        watch = self._progress
        ask_judge(
            name,
            settings,
            self._store,
            [stage],
            progress=None if watch is None else partial(watch, name.shown),
            client=self._client,
            budget=self._budget,
        )

    def plans(self) -> tuple[RubricPlan, ...]:
        """What would be sent, by who is asked what."""
        order, plans = self._order, []
        answers = {
            judgement.key: JudgeAnswer(judgement.unit, judgement.items, judgement.answer, judgement.error)
            for judgement in (read_judgements(self._store) if self._aids.writings else ())
            if judgement.state != "failed"
        }
        once = replace(order.settings, passes=1)
        ending = ""
        for writing in self._aids.writings:
            planner = CallPlanner(writing.model, once, self._store)
            if not writing.fill(planner, answers, once):
                ending = ESTIMATED
            plans.append(planner.plan(writing.title, writing.questions.tally))
        planner = CallPlanner(order.judge, order.settings, self._store)
        for group in self._trials_with(estimate=True).groups(self._tallies):
            planner.count(group)
        return (*plans, *(planner.plan(name + ending, tally) for name, tally in self._tallies.items()))

    # -- what came of it ---------------------------------------------------------------------------------

    def record(self) -> ProbeRecord:
        """What is kept of it."""
        order, trials = self._order, self._trials
        parameters = key_parameters(order.settings.sampling(order.judge))

        def key(digest: str, number: int) -> str:
            return judgement_key(order.judge.identity, parameters, digest, number)

        versions = run_versions()
        changes = {
            f"{probe.name}.{variant.name}": (probe.expects, variant.title)
            for probe in trials.probes
            for variant in probe.variants
        }
        return ProbeRecord(
            rater=rater_of(order.judge),
            date=versions["date"],
            bedside=versions["bedside"],
            parameters=asked_with(order.settings, ITEMS_PER_CALL),
            passes=order.settings.passes,
            seed=order.seed,
            margin=order.margin,
            translation=self._translation(),
            probes=tuple(probe.name for probe in trials.probes),
            rubrics={rubric.name: rubric.version for rubric in order.rubrics},
            scales={rubric.name: tuple(float(level.value) for level in rubric.scale) for rubric in order.rubrics},
            titles={name: title for name, (_, title) in changes.items()},
            expects={name: expects for name, (expects, _) in changes.items()},
            notes=tuple(self._notes()),
            sampled=len(self._sample),
            of=self._run.index.height,
            observations=tuple(trial.observation(order.settings.passes, key) for trial in trials.trials),
        )

    def _translation(self) -> str | None:
        """Where translations came from; None where none were needed or made."""
        order = self._order
        if order.needs("translation") and order.translations is not None:
            return "the user's"
        if self._aids.languages and order.translator is not None:
            return f"by {rater_of(order.translator)} into {', '.join(self._aids.languages)}"
        return None

    def _notes(self) -> Iterator[str]:
        for remark, count in self._trials.remarks.items():
            yield f"{remark} ({count:,} of {len(self._sample):,})."
        left_out = [probe.title for probe in self._order.probes if probe not in self._trials.probes]
        if left_out:
            yield f"Not asked, for want of translations: {', '.join(left_out).lower()}."

    def summaries(self) -> tuple[JudgingSummary, ...]:
        """What was asked of whom, and what it took."""
        order = self._order
        counts: dict[str, list[RubricCount]] = {}
        for writing in self._aids.writings:
            asked = writing.questions
            counts.setdefault(rater_of(writing.model), []).append(asked.tally.of(writing.title, asked.question.version))
        counts.setdefault(rater_of(order.judge), []).extend(
            self._tallies[rubric.name].of(rubric.name, rubric.version) for rubric in order.rubrics
        )
        parameters = asked_with(order.settings, ITEMS_PER_CALL)
        return tuple(
            JudgingSummary(
                rater=rater,
                parameters=parameters,
                passes=order.settings.passes,
                rubrics=tuple(rows),
                ratings=0,
                calls=sum(row.calls for row in rows),
            )
            for rater, rows in counts.items()
        )

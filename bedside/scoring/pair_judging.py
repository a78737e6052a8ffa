"""Judges compare the conversations of a run two by two, in both orders, and their preferences join the run."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from bedside.core.words import Names, listed
from bedside.judges.call_plan import CallPlanner, JudgeBudget, RubricPlan
from bedside.judges.counts import JudgingSummary, RubricCount, Tally
from bedside.judges.judgement_queue import JudgingStage, ask_judge
from bedside.judges.llm.contract import check_models
from bedside.judges.llm.endpoints import named_models
from bedside.judges.llm.model_names import ModelName
from bedside.judges.llm.protocol import Client
from bedside.judges.pair_question import ConversationPair, PairGroup, PairQuestion, preference_of
from bedside.judges.prompt import Conversation
from bedside.judges.raters import RatingRows, rubric_rater
from bedside.judges.rubrics.rubric import Rubric, as_data
from bedside.judges.rubrics.rubric_files import RUBRICS
from bedside.judges.settings import JudgeSettings
from bedside.ratings.run import Run
from bedside.ratings.table import missing_counts, rating_writer
from bedside.scoring.judging_orders import STORE
from bedside.scoring.run_judging import JudgingWatch
from bedside.scoring.run_transcripts import kept_transcripts, run_versions
from bedside.scoring.transcript_pairs import PairedTranscripts, TranscriptPair
from bedside.transcripts.transcript import Transcript

#: How many transcripts are held at once.
_HELD = 1000


@dataclass(frozen=True, slots=True)
class PairingWork:
    """What judges are asked to compare.

    Attributes:
        pairs: the transcripts.
        rubrics: by which they are compared.
    """

    pairs: PairedTranscripts
    rubrics: tuple[Rubric, ...]
    questions: tuple[PairQuestion, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "questions", tuple(map(PairQuestion, self.rubrics)))


def judge_run_pairs(
    run: Run,
    judges: Names,
    work: PairingWork,
    *,
    settings: JudgeSettings | None = None,
    progress: JudgingWatch | None = None,
    client: Callable[[], Client] | None = None,
) -> tuple[JudgingSummary, ...]:
    """Have judges compare transcripts of a run in both orders, and add their preferences to it.

    Every judgement is kept in the run as soon as it is made: the same call after a stop asks only what is missing.

    Args:
        run: the run.
        judges: models, see :mod:`bedside.judges.llm.endpoints`.
        work: what is compared.
        settings: passes, limits and the like.
        progress: called with the judge and how far it is.
        client: opens what is asked in place of the judges' models.

    Raises:
        LanguageModelError: a judge can't be asked; what was finished is kept in the run's store.
        RunError: the run keeps no text, and the files it was scored from have changed or are gone.
    """
    settings = settings or JudgeSettings()
    summaries = []
    budget = JudgeBudget(settings.max_cost)
    names = named_models(listed(judges, "judges"))
    if client is None:
        check_models(names)
    run.check_told_apart()
    with run.locked():
        for name in names:
            judging = _PairedJudging(run, name, work, settings)
            watch = None if progress is None else partial(progress, name.shown)
            summaries.append(judging.judge(watch, client, budget))
    return tuple(summaries)


def preview_run_pairs(
    run: Run, judges: Names, work: PairingWork, *, settings: JudgeSettings | None = None
) -> tuple[RubricPlan, ...]:
    """What :func:`judge_run_pairs` with the same arguments would send; nothing is sent or written."""
    plans: list[RubricPlan] = []
    for name in named_models(listed(judges, "judges")):
        judging = _PairedJudging(run, name, work, settings or JudgeSettings())
        planner = CallPlanner(name, judging.settings, run.path / STORE)
        for group in judging.groups():
            planner.count(group)
        plans += [planner.plan(metric, tally) for metric, tally in judging.tallies.items()]
    return tuple(plans)


class _PairedJudging:
    """One judge's comparisons of a run's transcripts."""

    def __init__(self, run: Run, name: ModelName, work: PairingWork, settings: JudgeSettings) -> None:
        self.run = run
        self.name = name
        self.work = work
        self.settings = settings
        self.tallies = {question.name: Tally() for question in work.questions}

    def judge(
        self,
        progress: Callable[[Any], None] | None,
        client: Callable[[], Client] | None,
        budget: JudgeBudget,
    ) -> JudgingSummary:
        """Ask everything, and add the answers to the run."""
        run, settings = self.run, self.settings
        with tempfile.TemporaryDirectory(prefix=".judging.", dir=run.path) as folder:
            ratings = rating_writer(Path(folder))
            rows = RatingRows(rubric_rater(self.name, self.work.rubrics), ratings.add)

            def emit(group: PairGroup) -> None:
                for reply in group.answers:
                    rows.add(group.transcript, group.number, *preference_of(group.question, reply))

            calls = ask_judge(
                self.name,
                settings,
                run.path / STORE,
                [JudgingStage(self.groups, emit, self.size)],
                text=run.keeps_text,
                progress=progress,
                client=client,
                budget=budget,
            )
            summary = JudgingSummary(
                rater=rows.rater,
                parameters={**settings.sampling().parameters(), "order": settings.order},
                passes=settings.passes,
                rubrics=tuple(self._counts()),
                ratings=rows.count,
                calls=calls,
            )
            self._add(ratings.result(), summary)
        return summary

    @property
    def size(self) -> int:
        """How many comparisons are asked for."""
        return 2 * len(self.work.pairs.pairs) * len(self.work.questions) * self.settings.passes

    def _counts(self) -> Iterator[RubricCount]:
        for question in self.work.questions:
            yield RubricCount(question.name, question.version, **asdict(self.tallies[question.name]))

    def groups(self) -> Iterator[PairGroup]:
        """All that is asked: of each two transcripts both orders, and of each order all rubrics and passes."""
        for pairs, transcripts in _held(self.run, self.work.pairs.pairs):
            conversations = {name: Conversation(transcript) for name, transcript in transcripts.items()}
            for first, second in _ordered(pairs):
                shown = ConversationPair(conversations[first], conversations[second])
                for question in self.work.questions:
                    for number in range(self.settings.passes):
                        yield PairGroup(shown, question, number, self.tallies[question.name])

    def _add(self, ratings: pl.LazyFrame, summary: JudgingSummary) -> None:
        run, settings, pairs = self.run, self.settings, self.work.pairs
        entry = {
            "rater": summary.rater,
            "model": self.name.text,
            **summary.parameters,
            "max_prompt_tokens": settings.max_prompt_tokens,
            "passes": summary.passes,
            "seed": settings.seed,
            "systems": list(pairs.systems),
            "matched_by": list(pairs.matched_by),
            "pairs": len(pairs.pairs),
            "available": pairs.available,
            "without_partner": [asdict(lacking) for lacking in pairs.without_partner],
            "complete": summary.complete,
            "prompts": {question.rubric.name: question.version for question in self.work.questions},
            "rubrics": [asdict(count) for count in summary.rubrics],
            "ratings": summary.ratings,
            "missing": missing_counts(ratings),
            **run_versions(),
        }
        manifest = {**run.manifest, "preferences": [*run.manifest.get("preferences", []), entry]}
        own = {rubric.key: as_data(rubric) for rubric in self.work.rubrics if rubric.key not in RUBRICS}
        if own:
            manifest["rubrics"] = {**run.manifest.get("rubrics", {}), **own}
        run.add(ratings, manifest)


def _ordered(pairs: Sequence[TranscriptPair]) -> Iterator[tuple[str, str]]:
    """Both orders of pairs, those that show the same transcript first one after the other."""
    seconds: dict[str, list[str]] = {}
    for pair in pairs:
        one, other = pair.transcripts
        seconds.setdefault(one, []).append(other)
        seconds.setdefault(other, []).append(one)
    for first, others in seconds.items():
        for second in others:
            yield first, second


def _held(run: Run, pairs: Sequence[TranscriptPair]) -> Iterator[tuple[list[TranscriptPair], dict[str, Transcript]]]:
    """Pairs of one or more whole cases, with their transcripts; few enough transcripts are held at once."""
    by_case: dict[str, list[TranscriptPair]] = {}
    for pair in pairs:
        by_case.setdefault(pair.case, []).append(pair)
    part: list[TranscriptPair] = []
    names: set[str] = set()
    for of_case in by_case.values():
        part += of_case
        names |= {name for pair in of_case for name in pair.transcripts}
        if len(names) >= _HELD:
            yield part, _transcripts(run, names)
            part, names = [], set()
    if part:
        yield part, _transcripts(run, names)


def _transcripts(run: Run, names: set[str]) -> dict[str, Transcript]:
    if run.keeps_text:
        return {transcript.id: transcript for transcript in run.transcripts_named(names)}
    return {transcript.id: transcript for transcript in kept_transcripts(run)() if transcript.id in names}

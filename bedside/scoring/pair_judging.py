"""A judge compares the conversations of a run two by two, in both orders."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Unpack

from bedside.judges.call_plan import CallPlanner, RubricPlan
from bedside.judges.counts import JudgingProgress, JudgingSummary, Tally
from bedside.judges.judgement_queue import JudgeAccess, JudgingStage, ask_judge
from bedside.judges.pair_question import ConversationPair, PairGroup, PairQuestion, preference_of
from bedside.judges.prompt import Conversation
from bedside.judges.raters import RatingRows, rubric_rater
from bedside.ratings.run import Run
from bedside.ratings.table import RatingRow
from bedside.scoring.judging_orders import JudgingOrder
from bedside.scoring.run_transcripts import kept_transcripts
from bedside.scoring.transcript_pairs import TranscriptPair
from bedside.transcripts.transcript import Transcript

#: How many transcripts are held at once.
_HELD = 1000


class PairJudging:
    """One judge's comparisons of a run's transcripts.

    Args:
        run: the run.
        order: what the judge is asked, with pairs, and how.
    """

    def __init__(self, run: Run, order: JudgingOrder) -> None:
        self._run = run
        self._order = order
        assert order.work.pairs is not None
        self._pairs = order.work.pairs.pairs
        self._questions = tuple(map(PairQuestion, order.work.rubrics))
        self._tallies = {question.name: Tally() for question in self._questions}

    def judge(
        self,
        store: Path,
        add: Callable[[RatingRow], object],
        *,
        progress: Callable[[JudgingProgress], None] | None,
        **access: Unpack[JudgeAccess],
    ) -> JudgingSummary:
        """Ask everything, and give each preference as a row of the ratings table.

        Args:
            store: where judgements are kept.
            add: called with each row.
            progress, access: as for :func:`bedside.judges.judgement_queue.ask_judge`.
        """
        judge, settings = self._order.judge, self._order.settings
        rows = RatingRows(rubric_rater(judge, self._order.work.rubrics), add)

        def emit(group: PairGroup) -> None:
            for reply in group.answers:
                rows.add(group.transcript, group.number, *preference_of(group.question, reply))

        size = 2 * len(self._pairs) * len(self._questions) * settings.passes
        calls = ask_judge(judge, settings, store, [JudgingStage(self._groups, emit, size)], progress=progress, **access)
        return JudgingSummary(
            rater=rows.rater,
            parameters={**settings.sampling().parameters(), "order": settings.order},
            passes=settings.passes,
            rubrics=tuple(self._tallies[own.name].of(own.name, own.version) for own in self._questions),
            ratings=rows.count,
            calls=calls,
        )

    def plans(self, store: Path) -> tuple[RubricPlan, ...]:
        """What it would send; nothing is sent or written."""
        planner = CallPlanner(self._order.judge, self._order.settings, store)
        for group in self._groups():
            planner.count(group)
        return tuple(planner.plan(metric, tally) for metric, tally in self._tallies.items())

    def _groups(self) -> Iterator[PairGroup]:
        """All that is asked: of each two transcripts both orders, and of each order all rubrics and passes."""
        for pairs, transcripts in _held(self._run, self._pairs):
            conversations = {name: Conversation(transcript) for name, transcript in transcripts.items()}
            for first, second in _ordered(pairs):
                shown = ConversationPair(conversations[first], conversations[second])
                for question in self._questions:
                    for number in range(self._order.settings.passes):
                        yield PairGroup(shown, question, number, self._tallies[question.name])


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

"""Tuning a judge's rubric by people's ratings: learnt on some of them, shown on the others.

On the training units alone the judge proposes wordings, examples are chosen, and maps of levels learnt; what agrees
best with people there is chosen. Then the untuned and the tuned judge rate the units that were held out, once, and only
that is a result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from bedside.analysis.ratings_view import RatingsView
from bedside.core.errors import DataError, InputError, from_extra
from bedside.judges.counts import JudgingProgress, Tally
from bedside.judges.judgement_queue import JudgingStage, ask_judge
from bedside.judges.llm.model_names import ModelName
from bedside.judges.llm.protocol import Client, LanguageModelError
from bedside.judges.prompt import Conversation, Question
from bedside.judges.questions import QuestionGroup
from bedside.judges.raters import rater_of
from bedside.judges.rubrics.rubric import MappedLevel, RatedExample, Rubric, TunedCandidate
from bedside.judges.settings import JudgeSettings
from bedside.ratings.run import Run
from bedside.scoring.judging_orders import STORE
from bedside.stats.arrays import Array, Mask
from bedside.stats.result import Result
from bedside.transcripts.transcript import Transcript
from bedside.tuning.label_split import LabelledUnit, LabelSplit, split_labels
from bedside.tuning.wording_proposals import (
    MOST_CHARACTERS,
    MOST_SHOWN,
    Disagreement,
    TrialRatings,
    example_pool,
    examples_shown,
    excerpt,
    one_question,
    proposal_rubric,
    proposal_transcript,
    reworded,
)

# -- Maps of levels -------------------------------------------------------------------------------------
# A judge that is lenient, or keeps to the middle of a scale, can be right about the order of conversations and wrong
# about every level. A map never turns the order round, and its levels are those of the scale.


@dataclass(frozen=True, slots=True, eq=False)
class LevelTable:
    """How often people gave each level where the judge gave each, each unit with one vote however many people rated it.

    Attributes:
        levels: of the scale, ascending.
        votes: judge's levels × people's levels; sums of weights.
    """

    levels: Array
    votes: Array

    @property
    def totals(self) -> Array:
        """How much weight each of the judge's levels has."""
        total: Array = self.votes.sum(axis=1)
        return total


#: A map as positions: for each of the judge's levels the one that is recorded; None where it can't be fitted.
Positions = tuple[int, ...]


def level_table(judge: Array, people: Array, weights: Array, levels: Sequence[float]) -> LevelTable:
    """The table of a judge's levels and people's.

    Args:
        judge: the judge's level of each unit, NaN where it gave none.
        people: units × people, NaN where a person gave none.
        weights: of the units.
        levels: of the scale, ascending.
    """
    scale = np.asarray(levels, dtype=np.float64)
    own = judge[:, None] == scale
    counts = (people[:, :, None] == scale).sum(axis=1).astype(np.float64)
    votes = counts / np.maximum(1.0, counts.sum(axis=1, keepdims=True)) * weights[:, None]
    return LevelTable(scale, own.astype(np.float64).T @ votes)


def unmapped(table: LevelTable) -> Positions:
    """Every level as it is."""
    return tuple(range(table.levels.size))


def isotonic(table: LevelTable) -> Positions | None:
    """The mean of what people say at each level, as a function that never falls, rounded to a level.

    Source: scikit-learn's isotonic regression (pool adjacent violators).
    """
    with from_extra("learning", "tuning a judge needs scikit-learn"):
        from sklearn.isotonic import IsotonicRegression

    seen = table.totals > 0
    if seen.sum() < 2:
        return None
    means = table.votes[seen] @ table.levels / table.totals[seen]
    fitted = IsotonicRegression(out_of_bounds="clip").fit(table.levels[seen], means, sample_weight=table.totals[seen])
    return _nearest(fitted.predict(table.levels), table.levels)


def ordinal(table: LevelTable) -> Positions | None:
    """The level that people reach at each level with a chance of a half: an ordinal regression on the judge's level.

    One logistic regression for each threshold of the scale (Frank and Hall 2001), with scikit-learn's penalty, so that
    a threshold that separates the two sides wholly has a finite slope.
    """
    with from_extra("learning", "tuning a judge needs scikit-learn"):
        from sklearn.linear_model import LogisticRegression

    seen = np.flatnonzero(table.totals > 0)
    if seen.size < 2:
        return None
    middle = table.levels.mean()
    x = table.levels[seen][:, None] - middle
    reached = np.zeros((table.levels.size, table.levels.size - 1))
    for threshold in range(1, table.levels.size):
        above, below = table.votes[seen, threshold:].sum(axis=1), table.votes[seen, :threshold].sum(axis=1)
        if not above.sum() or not below.sum():
            reached[:, threshold - 1] = float(above.sum() > 0)
            continue
        # This solver is quick on a handful of rows, whatever else the machine does.
        model = LogisticRegression(solver="liblinear").fit(
            np.vstack([x, x]), np.repeat([1, 0], seen.size), sample_weight=np.concatenate([above, below])
        )
        reached[:, threshold - 1] = model.predict_proba(table.levels[:, None] - middle)[:, 1] > 0.5
    return tuple(np.maximum.accumulate(reached.sum(axis=1)).astype(int).tolist())


def equipercentile(table: LevelTable) -> Positions | None:
    """The level at which people stand where the judge's level stands among the judge's own: equipercentile linking.

    The middle of the judge's share of a level is looked up in the shares of people's levels. Source: Kolen and Brennan
    (2014), Test equating, scaling, and linking.
    """
    said, by_people = table.totals, table.votes.sum(axis=0)
    if (said > 0).sum() < 2 or not by_people.sum():
        return None
    middles = (np.cumsum(said) - said / 2) / said.sum()
    bounds = np.cumsum(by_people) / by_people.sum()
    positions = np.minimum(np.searchsorted(bounds, middles - 1e-12), table.levels.size - 1)
    return tuple(np.maximum.accumulate(positions).astype(int).tolist())


#: How levels can be mapped, the plainest first.
LEVEL_MAPS: Mapping[str, Callable[[LevelTable], Positions | None]] = {
    "none": unmapped,
    "isotonic": isotonic,
    "ordinal": ordinal,
    "equipercentile": equipercentile,
}


def mapped(judge: Array, positions: Positions, levels: Sequence[float]) -> Array:
    """The judge's levels after a map; NaN stays NaN."""
    scale = np.asarray(levels, dtype=np.float64)
    place = np.searchsorted(scale, np.where(np.isnan(judge), scale[0], judge))
    recorded: Array = np.where(np.isnan(judge), np.nan, scale[np.asarray(positions)[place]])
    return recorded


def _nearest(values: Array, levels: Array) -> Positions:
    """The position of the level nearest to each value; of two as near, the lower."""
    return tuple(np.abs(values[:, None] - levels).argmin(axis=1).tolist())


# -- Which of several candidates agrees best with people ------------------------------------------------
# Arrays in, a choice out. What is learnt (a map of levels) is learnt on other cases than those it is tried on; a
# candidate is tried only on units that nothing of it was made from.

#: Parts that the cases are divided into: a map that is tried on one is learnt on the others.
FOLDS = 5


@dataclass(frozen=True, slots=True, eq=False)
class RatedUnits:
    """Units that people rated, for a choice among candidates.

    Attributes:
        people: units × people, NaN where a person gave none.
        cases: the case of each unit.
        weights: how many each unit stands for.
        levels: of the scale, ascending.
    """

    people: Array
    cases: npt.NDArray[np.str_]
    weights: Array
    levels: tuple[float, ...]


@dataclass(frozen=True, slots=True, eq=False)
class CandidateLevels:
    """A candidate way of asking, and what the judge said by it.

    Attributes:
        judge: the judge's level of each unit; NaN where there is none.
        tried_on: units on which it may be tried: of no case that it was made from.
    """

    judge: Array
    tried_on: Mask


@dataclass(frozen=True, slots=True)
class Trial:
    """How one candidate did with one map.

    Attributes:
        candidate: its number; level_map: of :data:`~bedside.tuning.tuned_judge.LEVEL_MAPS`.
        kappa: mean quadratic kappa with each person; NaN where it is undefined.
        gain: by how much that is above the first candidate without a map, on the units that both were tried on.
        units: how many these are.
    """

    candidate: int
    level_map: str
    kappa: float
    gain: float
    units: int


@dataclass(frozen=True, slots=True)
class TuningChoice:
    """The candidate that is chosen.

    Attributes:
        candidate: its number; level_map: how its levels are mapped; positions: the map, learnt on all training units.
        trials: all that was tried, in order.
    """

    candidate: int
    level_map: str
    positions: Positions
    trials: tuple[Trial, ...]


def choose(units: RatedUnits, candidates: Sequence[CandidateLevels], *, seed: int) -> TuningChoice:
    """Choose among candidates, each with each map of levels.

    The first candidate without a map is what there is already: another is chosen only if it gains on it, and of equal
    ones the first.

    Args:
        units: training units.
        candidates: the first is what there is already.
        seed: of the division of cases.
    """
    folds = case_folds(units.cases, seed)
    trials = []
    for number, candidate in enumerate(candidates):
        for name in LEVEL_MAPS:
            recorded = _out_of_fold(units, candidate, name, folds)
            if recorded is not None:
                trials.append(_trial(units, candidates[0], candidate, recorded, number=number, name=name))
    best = trials[0]
    for trial in trials[1:]:
        if trial.gain > max(best.gain, 1e-9):
            best = trial
    positions = _fitted(units, candidates[best.candidate], best.level_map, np.ones(len(units.cases), dtype=bool))
    assert positions is not None
    return TuningChoice(best.candidate, best.level_map, positions, tuple(trials))


def mean_kappa(judge: Array, units: RatedUnits, kept: Mask) -> float:
    """The mean over people of the quadratic kappa of a judge with each; NaN where it is undefined with all.

    Kappa is 1 − E(a − b)² / (V(a) + V(b) + (E a − E b)²): what the mean squared difference would be between ratings
    drawn independently stands below. Units weigh as they are drawn.
    """
    kappas = []
    for person in units.people.T:
        both = kept & ~np.isnan(judge) & ~np.isnan(person)
        if not both.any():
            continue
        weights = units.weights[both] / units.weights[both].sum()
        a, b = judge[both], person[both]
        mean_a, mean_b = weights @ a, weights @ b
        chance = weights @ (a - mean_a) ** 2 + weights @ (b - mean_b) ** 2 + (mean_a - mean_b) ** 2
        if chance > 1e-12:
            kappas.append(1 - (weights @ (a - b) ** 2) / chance)
    return float(np.mean(kappas)) if kappas else float("nan")


def case_folds(cases: npt.NDArray[np.str_], seed: int) -> npt.NDArray[np.intp]:
    """The fold of each unit: whole cases, as equal in number as they can be."""
    names, place = np.unique(cases, return_inverse=True)
    order = np.random.default_rng(seed).permutation(names.size)
    of_case = np.empty(names.size, dtype=np.intp)
    of_case[order] = np.arange(names.size) % min(FOLDS, names.size)
    return of_case[place]


def _trial(
    units: RatedUnits, first: CandidateLevels, candidate: CandidateLevels, recorded: Array, *, number: int, name: str
) -> Trial:
    kept = candidate.tried_on & ~np.isnan(recorded)
    both = kept & ~np.isnan(first.judge)
    kappa, beside = mean_kappa(recorded, units, both), mean_kappa(first.judge, units, both)
    # A judge that says one thing of everything agrees no better than chance.
    gain = np.nan_to_num(kappa, nan=0.0) - np.nan_to_num(beside, nan=0.0)
    return Trial(number, name, mean_kappa(recorded, units, kept), float(gain), int(kept.sum()))


def _out_of_fold(units: RatedUnits, candidate: CandidateLevels, name: str, folds: npt.NDArray[np.intp]) -> Array | None:
    """What is recorded of each unit by a map that was learnt on other folds; None where it can't be learnt."""
    recorded = np.full(candidate.judge.size, np.nan)
    for fold in np.unique(folds):
        within = folds == fold
        positions = _fitted(units, candidate, name, ~within)
        if positions is None:
            return None
        recorded[within] = mapped(candidate.judge[within], positions, units.levels)
    return recorded


def _fitted(units: RatedUnits, candidate: CandidateLevels, name: str, learnt: Mask) -> Positions | None:
    """A map learnt on some units."""
    kept = learnt & ~np.isnan(candidate.judge)
    table = level_table(candidate.judge[kept], units.people[kept], units.weights[kept], units.levels)
    return LEVEL_MAPS[name](table)


# -- What a tuning brought on the units that were held out ----------------------------------------------


@dataclass(frozen=True, slots=True)
class HeldOutFigures:
    """Agreement with people on the units that were held out: quadratic kappa with each person, the mean.

    Attributes:
        before, after: of the untuned judge and the tuned one, each with its interval by case.
        gain: after minus before, on the same units, with its interval by case.
        ceiling: of one person with the others; without an estimate where no two people rated the same.
        people: how many people rated.
    """

    before: Result
    after: Result
    gain: Result
    ceiling: Result
    people: int

    @property
    def shown(self) -> bool:
        """Whether the gain is shown: its whole interval lies above 0."""
        return self.gain.interval is not None and self.gain.interval.low > 0


def people_table(units: Sequence[LabelledUnit]) -> Array:
    """People's levels, units × people in the order of their names; NaN where a person gave none."""
    raters = sorted({rater for unit in units for rater in unit.ratings})
    return np.array([[float(unit.ratings.get(rater, np.nan)) for rater in raters] for unit in units])


def held_out_figures(
    units: Sequence[LabelledUnit], before: Array, after: Array, levels: Sequence[float]
) -> HeldOutFigures:
    """The figures of some units.

    Where they were drawn with unequal chances, the figures are of all that they stand for.

    Args:
        units: the units.
        before, after: the judge's level of each; NaN where there is none.
        levels: of the scale, ascending.
    """
    from bedside.stats.kappa_gain import kappa_gain
    from bedside.stats.many_raters import mean_pairwise_kappa

    people = _cells(people_table(units))
    clusters = _clusters(units)
    count = people.shape[1]

    def with_people(judge: Array) -> Result:
        return mean_pairwise_kappa(
            np.column_stack([people, _cells(judge)]),
            scale=levels,
            pairs=[(person, count) for person in range(count)],
            clusters=clusters,
        )

    if count > 1:
        ceiling = mean_pairwise_kappa(people, scale=levels, clusters=clusters)
    else:
        ceiling = Result(name="mean pairwise kappa", method="", missing="one person rated")
    return HeldOutFigures(
        before=with_people(before),
        after=with_people(after),
        gain=kappa_gain(_cells(after), _cells(before), people, scale=levels, clusters=clusters),
        ceiling=ceiling,
        people=count,
    )


def _cells(numbers: Array) -> Any:
    cells = numbers.astype(object)
    cells[np.isnan(numbers)] = None
    return cells


def _clusters(units: Sequence[LabelledUnit]) -> Any:
    """The case of each unit where units share one; where chances differ, how they were drawn."""
    from bedside.stats.sampled_items import sampled_items

    cases = np.array([unit.case for unit in units])
    if len({unit.weight for unit in units}) > 1:
        strata = np.unique([unit.stratum for unit in units], return_inverse=True)[1]
        return sampled_items([1 / unit.weight for unit in units], strata=strata, clusters=cases)
    return cases if len(set(cases.tolist())) < len(cases) else None


# -- Tuning a judge's rubric by people's ratings --------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TuningOrder:
    """What is to be tuned, and how.

    Attributes:
        judge: the model.
        rubric: tuned from; it rates transcripts or turns one by one, on levels.
        settings: how the judge is asked; everything is asked once.
        share: of cases for training.
        wordings: how many wordings are proposed; examples: how many examples are tried, 0 for none.
        budget: most judgements asked for in all; fewer wordings are tried where it is small. None for no limit.
        seed: of every draw.
    """

    judge: ModelName
    rubric: Rubric
    settings: JudgeSettings
    share: float = 0.5
    wordings: int = 4
    examples: int = 3
    budget: int | None = None
    seed: int = 0


@dataclass(frozen=True, slots=True)
class TuningOutcome:
    """What a tuning came to.

    Attributes:
        base: the rubric that was tuned; tuned: what came of it, without its history; None where nothing that was tried
            did better in training.
        rater: the untuned judge's name.
        split: which units were learnt from, and which held out.
        candidates: what was tried, with figures from training, which chose and are no result.
        rejected: wordings that were proposed and couldn't be used, and why.
        fewer: wordings that the budget left out.
        figures: before and after on what was held out.
        unanswered: units that the judge gave no level, before or after.
        calls: requests that were sent.
    """

    base: Rubric
    tuned: Rubric | None
    rater: str
    split: LabelSplit
    candidates: tuple[TunedCandidate, ...]
    rejected: tuple[str, ...]
    fewer: int
    figures: HeldOutFigures
    unanswered: int
    calls: int

    @property
    def shown(self) -> bool:
        """Whether the gain is shown: its whole interval lies above 0."""
        return self.figures.shown

    @property
    def gain(self) -> Result:
        """Agreement with people after minus before, on what was held out."""
        return self.figures.gain


def check_tunable(rubric: Rubric) -> None:
    """See that a rubric can be tuned.

    Raises:
        InputError: it doesn't ask for one level of a transcript or of a turn, or has examples or a map already.
    """
    if rubric.examples or rubric.level_map:
        raise InputError(
            f"the rubric {rubric.title} has examples or a map of levels from an earlier tuning",
            where="`rubric`",
            todo="tune the one that it was tuned from",
        )
    if rubric.kind == "level" and rubric.each is None and rubric.transcript:
        return
    reason = (
        f"its answers are of kind {rubric.kind}" if rubric.kind != "level" else "it asks about several things at once"
    )
    raise InputError(
        f"the rubric {rubric.title} can't be tuned: {reason}",
        where="`rubric`",
        todo="name one that asks for one level of a conversation or turn",
    )


def prepared_split(view: RatingsView, order: TuningOrder) -> LabelSplit:
    """People's ratings, split; what the rubric was tuned on before is not held out."""
    check_tunable(order.rubric)
    split = split_labels(view, order.rubric.name, share=order.share, seed=order.seed, learnt=order.rubric.learnt_from)
    levels = {float(level.value) for level in order.rubric.scale}
    said = {level for unit in (*split.training, *split.held_out) for level in unit.ratings.values()}
    if not said <= levels:
        raise DataError(
            f"people gave {order.rubric.name} levels that the rubric doesn't have: "
            f"{', '.join(sorted(str(level) for level in said - levels))}",
            where=view.name,
            todo="name the rubric that people rated by",
        )
    return split


def wordings_within(order: TuningOrder, split: LabelSplit) -> int:
    """How many wordings the budget allows.

    Raises:
        InputError: it doesn't allow for what is asked without any.
    """
    least = most_judgements(order, split, 0)
    if order.budget is not None and order.budget < least:
        raise InputError(
            f"tuning takes {least:,} judgements without any new wording: {len(split.training):,} units to learn from"
            f"{', again with examples,' if order.examples else ''} and {len(split.held_out):,} held out, twice",
            where="`budget`",
            todo=f"allow {least:,} or more, or set `examples=0`",
        )
    return max(
        number
        for number in range(order.wordings + 1)
        if order.budget is None or most_judgements(order, split, number) <= order.budget
    )


def most_judgements(order: TuningOrder, split: LabelSplit, wordings: int) -> int:
    """How many judgements a tuning asks for at most."""
    training, first = len(split.training), (len(split.training) + 1) // 2
    tried = wordings * first + _kept_of(wordings) * (training - first)
    return training + wordings + tried + (training if order.examples else 0) + 2 * len(split.held_out)


def tune(
    run: Run,
    split: LabelSplit,
    order: TuningOrder,
    *,
    progress: Callable[[JudgingProgress], None] | None = None,
    client: Callable[[], Client] | None = None,
) -> TuningOutcome:
    """Tune a rubric on the training units, and rate what was held out before and after.

    Every judgement is kept in the run's store: the same call after a stop asks only what is missing, and comes to the
    same.

    Args:
        run: the run, which keeps its text.
        split: as :func:`prepared_split` made it.
        order: what is tuned, and how.
        progress: called whenever a judgement is done.
        client: opens what is asked in place of the judge's model.

    Raises:
        LanguageModelError: the judge can't be asked, or something wasn't answered; what was is kept.
        InputError: the budget is too small.
    """
    tuning = _Tuning(run, split, order, wordings_within(order, split))
    return tuning.run(progress, client)


def _kept_of(wordings: int) -> int:
    """How many wordings are tried on the second half of the units."""
    return (wordings + 1) // 2


@dataclass(slots=True, eq=False)
class _Candidate:
    """A wording, with or without examples, and what the judge said by it.

    Attributes:
        rubric: in its wording, without examples; examples: those that are shown; ratings: what the judge said.
        cases: those that it was made from.
    """

    rubric: Rubric
    ratings: TrialRatings
    examples: tuple[RatedExample, ...] = ()
    cases: frozenset[str] = frozenset()


class _Tuning:
    """One tuning while it goes on: each stage begins when the one before is answered."""

    def __init__(self, run: Run, split: LabelSplit, order: TuningOrder, wordings: int) -> None:
        self._run, self._split, self._order, self._wordings = run, split, order, wordings
        wanted = {unit.transcript for unit in (*split.training, *split.held_out)}
        self._transcripts: dict[str, Transcript] = {
            transcript.id: transcript for transcript in run.transcripts() if transcript.id in wanted
        }
        self._tally = Tally()
        self._base = self._worded(order.rubric)
        self._proposed: list[_Candidate] = []
        self._rejected: list[str] = []
        self._disagreements: list[tuple[Disagreement, ...]] = []
        self._candidates: list[_Candidate] = [self._base]
        self._choice: TuningChoice | None = None
        self._after: TrialRatings | None = None
        folds = case_folds(_cases(split.training), order.seed)
        self._first = [unit for unit, fold in zip(split.training, folds, strict=True) if fold % 2 == 0]

    def run(
        self, progress: Callable[[JudgingProgress], None] | None, client: Callable[[], Client] | None
    ) -> TuningOutcome:
        """Ask everything, one stage after the other."""
        training = self._split.training
        stages = [
            JudgingStage(lambda: self._asked([self._base.ratings], training), _take),
            JudgingStage(self._proposals, self._propose, self._wordings),
            # Every wording on the first half of the training cases.
            JudgingStage(lambda: self._asked([wording.ratings for wording in self._proposed], self._first), _take),
            JudgingStage(self._second_trials, _take),
            JudgingStage(self._example_trials, _take),
            JudgingStage(self._held_out_trials, _take),
        ]
        order = self._order
        settings = replace(order.settings, passes=1, expected=False)
        store = self._run.path / STORE
        calls = ask_judge(order.judge, settings, store, stages, progress=progress, client=client)
        self._check_answered()
        return self._outcome(calls)

    # -- asking ---------------------------------------------------------------------------------------

    def _asked(self, trials: Sequence[TrialRatings], units: Sequence[LabelledUnit]) -> Iterator[QuestionGroup]:
        """What is asked about units by each of several candidates, once what came before is answered."""
        self._check_answered()
        for ratings in trials:
            yield from ratings.groups(units, self._transcripts)

    def _proposals(self) -> Iterator[QuestionGroup]:
        """What the judge is asked for wordings, each from other units on which it disagreed with people."""
        self._check_answered()
        worst = self._worst()
        for number in range(self._wordings if worst else 0):
            shown = tuple(worst[number :: self._wordings][:MOST_SHOWN]) or tuple(worst[:MOST_SHOWN])
            self._disagreements.append(shown)
            transcript = proposal_transcript(self._order.rubric, number, shown)
            question = Question(proposal_rubric(self._order.rubric, number))
            yield QuestionGroup(Conversation(transcript), question, 0, self._tally)

    def _worst(self) -> list[Disagreement]:
        """The training units on which the judge and people differ, the most different first."""
        ratings = self._base.ratings
        cases = []
        for unit in self._split.training:
            said = ratings.levels.get(unit.key)
            people = float(np.mean([float(level) for level in unit.ratings.values()]))
            if said is None or abs(said - people) < 0.5:
                continue
            transcript = self._transcripts[unit.transcript]
            cases.append(
                Disagreement(
                    conversation=excerpt(self._order.rubric, transcript, unit.unit, MOST_CHARACTERS),
                    case=unit.case,
                    people=people,
                    judge=said,
                    people_reasons="; ".join(unit.reasons.values()),
                    judge_reason=ratings.reasons[unit.key],
                )
            )
        return sorted(cases, key=lambda case: -abs(case.judge - case.people))

    def _propose(self, group: QuestionGroup) -> None:
        """Take a proposal; groups come in the order in which they were asked."""
        (answer,) = group.answers
        number = len(self._proposed) + len(self._rejected)
        shown = self._disagreements[number]
        proposal = answer.error if answer.answer is None else reworded(self._order.rubric, answer.answer, shown)
        versions = {candidate.rubric.version for candidate in self._proposed}
        if isinstance(proposal, Rubric) and proposal.version not in versions:
            candidate = self._worded(proposal)
            candidate.cases = frozenset(case.case for case in shown)
            self._proposed.append(candidate)
        else:
            fault = "it was proposed before" if isinstance(proposal, Rubric) else proposal
            self._rejected.append(f"wording {number + 1}: {fault}")

    def _second_trials(self) -> Iterator[QuestionGroup]:
        """Those that did best there on the other half."""
        self._check_answered()
        kept = sorted(self._proposed, key=lambda candidate: -self._best_gain(candidate, self._first))
        survivors = kept[: _kept_of(len(kept))]
        self._candidates += [candidate for candidate in self._proposed if candidate in survivors]
        first = {unit.key for unit in self._first}
        rest = [unit for unit in self._split.training if unit.key not in first]
        return self._asked([candidate.ratings for candidate in self._candidates[1:]], rest)

    def _example_trials(self) -> Iterator[QuestionGroup]:
        """The wording that did best, with examples: of what shares a case with what is rated, others."""
        self._check_answered()
        order, training = self._order, self._split.training
        best = max(self._candidates, key=lambda candidate: self._best_gain(candidate, training))
        number = order.examples
        pool = example_pool(best.rubric, training, self._transcripts, number, seed=order.seed) if number else ()
        if not pool:
            return iter(())
        questions: dict[tuple[RatedExample, ...], Question] = {}

        def question(case: str) -> Question:
            shown = examples_shown(pool, number, case)
            if shown not in questions:
                questions[shown] = Question(replace(best.rubric, examples=shown))
            return questions[shown]

        candidate = _Candidate(
            best.rubric, TrialRatings(question, self._tally), examples=examples_shown(pool, number), cases=best.cases
        )
        self._candidates.append(candidate)
        return self._asked([candidate.ratings], training)

    def _held_out_trials(self) -> Iterator[QuestionGroup]:
        """What was there already and what was chosen, on what was held out."""
        self._check_answered()
        training = self._split.training
        levels = [self._levels_of(candidate, training) for candidate in self._candidates]
        self._choice = choose(self._units(training), levels, seed=self._order.seed)
        trials = [self._base.ratings]
        chosen = self._candidates[self._choice.candidate]
        if chosen is self._base:
            self._after = self._base.ratings
        else:
            self._after = self._worded(replace(chosen.rubric, examples=chosen.examples)).ratings
            trials.append(self._after)
        return self._asked(trials, self._split.held_out)

    def _check_answered(self) -> None:
        """Stop where something wasn't answered: what follows would hang on which.

        Raises:
            LanguageModelError: something wasn't.
        """
        missing = self._tally.failed + self._tally.not_asked
        if missing:
            raise LanguageModelError(
                f"tuning isn't finished: {missing:,} of {self._tally.judgements:,} judgements weren't answered",
                where=self._order.judge.shown,
                todo="run the same command again, with a higher limit where one was reached; what was answered is kept",
            )

    # -- choosing -------------------------------------------------------------------------------------

    def _worded(self, rubric: Rubric) -> _Candidate:
        return _Candidate(rubric, TrialRatings(one_question(rubric), self._tally))

    def _units(self, units: Sequence[LabelledUnit]) -> RatedUnits:
        people = people_table(units)
        weights = np.array([unit.weight for unit in units])
        scale = tuple(float(level.value) for level in self._order.rubric.scale)
        return RatedUnits(people, _cases(units), weights, scale)

    def _levels_of(self, candidate: _Candidate, units: Sequence[LabelledUnit]) -> CandidateLevels:
        own = np.array([unit.case not in candidate.cases for unit in units], dtype=np.bool_)
        return CandidateLevels(candidate.ratings.array(units), own)

    def _best_gain(self, candidate: _Candidate, units: Sequence[LabelledUnit]) -> float:
        """By how much a candidate gains on what there is, with whichever map does it best."""
        levels = [self._levels_of(trial, units) for trial in (self._base, candidate)]
        trials = choose(self._units(units), levels, seed=self._order.seed).trials
        return max((trial.gain for trial in trials if trial.candidate == 1), default=0.0)

    def _outcome(self, calls: int) -> TuningOutcome:
        choice, after, order = self._choice, self._after, self._order
        assert choice is not None
        assert after is not None
        held_out, chosen = self._split.held_out, self._candidates[choice.candidate]
        units = self._units(held_out)
        before_levels = self._base.ratings.array(held_out)
        after_levels = mapped(after.array(held_out), choice.positions, units.levels)
        changed = chosen is not self._base or choice.level_map != "none"
        values = [level.value for level in order.rubric.scale]
        steps = tuple(
            MappedLevel(said=said, level=values[place]) for said, place in zip(values, choice.positions, strict=True)
        )
        tuned = replace(
            chosen.rubric,
            examples=chosen.examples,
            level_map=steps if choice.positions != tuple(range(len(values))) else (),
        )
        return TuningOutcome(
            base=order.rubric,
            tuned=tuned if changed else None,
            rater=rater_of(order.judge),
            split=self._split,
            candidates=self._tried_candidates(choice),
            rejected=tuple(self._rejected),
            fewer=order.wordings - self._wordings,
            figures=held_out_figures(held_out, before_levels, after_levels, units.levels),
            unanswered=int((np.isnan(before_levels) | np.isnan(after_levels)).sum()),
            calls=calls,
        )

    def _tried_candidates(self, choice: TuningChoice) -> tuple[TunedCandidate, ...]:
        """All that was tried: those that were dropped half way have no figure."""
        tried = [
            TunedCandidate(
                wording=self._candidates[trial.candidate].rubric.version,
                examples=len(self._candidates[trial.candidate].examples),
                level_map=trial.level_map,
                kappa=None if np.isnan(trial.kappa) else float(trial.kappa),
                units=trial.units,
            )
            for trial in choice.trials
        ]
        dropped = [candidate for candidate in self._proposed if candidate not in self._candidates]
        return (
            *tried,
            *(
                TunedCandidate(wording=candidate.rubric.version, examples=0, level_map="none", units=len(self._first))
                for candidate in dropped
            ),
        )


def _take(group: Any) -> None:
    group.ratings.take(group)


def _cases(units: Sequence[LabelledUnit]) -> Any:
    return np.array([unit.case for unit in units])

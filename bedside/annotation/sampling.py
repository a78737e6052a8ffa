"""The drawing of a plan: units of each stratum, a training set, and who rates what."""

from __future__ import annotations

import math
import random
import re
import statistics
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, pairwise
from math import comb

import numpy as np
import polars as pl

from bedside.analysis.plan_draws import TO_PEOPLE
from bedside.annotation.annotation_plan import (
    RATER,
    AnnotationPlan,
    GoldItem,
    KnownItem,
    PlanItem,
    Stratum,
    TrainingItem,
    check_rubrics,
    opaque_id,
    planned_rubrics,
    run_identity,
)
from bedside.annotation.fields import NONE
from bedside.annotation.items import linked_lists, pair_problem, point_criteria
from bedside.annotation.plan_choices import FOCI, MODES, Focus, Mode
from bedside.annotation.plan_file import sealed
from bedside.annotation.strata import DrawableUnit, UnitPool, drawn_units, unit_pool
from bedside.annotation.training_cases import TrainingCase
from bedside.core.errors import DataError, InputError, one_of
from bedside.core.files import can_name_a_file
from bedside.judges.rubrics.answer_form import LINKED_KINDS
from bedside.judges.rubrics.rubric import Rubric
from bedside.ratings.names import (
    TRANSCRIPT,
    is_pair,
    is_turn,
    pair_unit,
    rated_by_humans,
    rated_by_judges,
    rated_by_juries,
    second_id,
)
from bedside.ratings.run import Run
from bedside.ratings.table import check_round
from bedside.scoring.transcript_pairs import paired_transcripts

# -- Which units people should rate first ---------------------------------------------------------------


def priorities(run: Run, focus: Focus, rubrics: Sequence[Rubric]) -> dict[tuple[str, str], float]:
    """(transcript, unit) → how early it should be rated, 0 (late) to 1.

    Args:
        run: the run.
        focus: ``disagreement`` or ``uncertain``.
        rubrics: what is rated.

    Raises:
        DataError: judges have rated too little to say so.
    """
    scores = disagreement(run, rubrics) if focus == "disagreement" else uncertainty(run, rubrics)
    if not scores:
        lack = {
            "disagreement": "no unit was rated twice by judges, neither by two of them nor in two passes",
            "uncertain": "no judge has rated any unit on a scale",
        }[focus]
        raise DataError(
            f"{lack} ({', '.join(rubric.name for rubric in rubrics)})",
            where=str(run.path),
            todo="have it judged by several judges or in several passes (bedside score `passes=3`), or choose "
            "`focus=random`",
        )
    if rubrics[0].unit == "transcript" or not any(is_turn(unit) for _, unit in scores):
        return scores
    # Coded turns are rated transcript by transcript: a transcript has the mean of its turns.
    grouped: dict[str, list[float]] = {}
    for (transcript, _), score in scores.items():
        grouped.setdefault(transcript, []).append(score)
    return scores | {(name, TRANSCRIPT): statistics.fmean(values) for name, values in grouped.items()}


def _machine_ratings(run: Run, names: Sequence[str]) -> pl.DataFrame:
    """What judges and algorithms said: one row a unit and metric, with lists of values and labels.

    What a jury says is what its members said: it is left out, or they would seem to agree more than they do.
    """
    return (
        run.ratings.filter(
            pl.col("metric").is_in(names), ~rated_by_humans(), ~rated_by_juries(), pl.col("error").is_null()
        )
        .group_by("transcript_id", "unit", "metric", maintain_order=True)
        .agg(pl.col("value").drop_nulls(), pl.col("label").drop_nulls())
    )  # fmt: skip


def disagreement(run: Run, rubrics: Sequence[Rubric]) -> dict[tuple[str, str], float]:
    """How far judges and their passes differ on each unit, 0 (not at all) to 1, the mean over rubrics.

    On a scale: twice the standard deviation of all judges' passes over the width of the scale. Labels: the share of
    answers other than the most frequent one. Counts (lists and sets): twice the standard deviation over the largest
    count given. Units that were rated once only are left out.
    """
    widths = {rubric.name: _width(rubric) for rubric in rubrics}
    scores: dict[tuple[str, str], list[float]] = {}
    for transcript, unit, metric, values, labels in _machine_ratings(run, list(widths)).iter_rows():
        if len(labels) > 1:
            score = 1 - Counter(labels).most_common(1)[0][1] / len(labels)
        elif len(values) > 1:
            width = widths[metric] or max(values) or 1.0
            score = 2 * statistics.pstdev(values) / width
        else:
            continue
        scores.setdefault((transcript, unit), []).append(score)
    return {key: statistics.fmean(by_rubric) for key, by_rubric in scores.items()}


def uncertainty(run: Run, rubrics: Sequence[Rubric]) -> dict[tuple[str, str], float]:
    """How unsure the judge is of each unit, 0 (sure) to 1, the mean over rubrics.

    Where the run has expected levels (``--expected``): the distance of the expected level from the nearest level, over
    half the distance between levels. Else, on a scale: how near the judge's mean is to the middle of the scale, 1 at
    the middle and 0 at its ends. Labels: as in :func:`disagreement`.
    """
    levels = {rubric.name: [float(level.value) for level in rubric.scale] for rubric in rubrics if rubric.scale}
    by_metric: dict[tuple[str, str], dict[str, float]] = {}
    for transcript, unit, metric, values, _ in _machine_ratings(run, list(levels)).iter_rows():
        if values:
            low, high = levels[metric][0], levels[metric][-1]
            off = abs(statistics.fmean(values) - (low + high) / 2) / ((high - low) / 2)
            by_metric.setdefault((transcript, unit), {})[metric] = 1 - off
    expected = {f"{name}.expected": name for name in levels}
    for transcript, unit, metric, values, _ in _machine_ratings(run, list(expected)).iter_rows():
        if values:
            score = _between_levels(statistics.fmean(values), levels[expected[metric]])
            by_metric.setdefault((transcript, unit), {})[expected[metric]] = score
    scores = {key: list(by_rubric.values()) for key, by_rubric in by_metric.items()}
    for key, score in disagreement(run, [rubric for rubric in rubrics if not rubric.scale]).items():
        scores.setdefault(key, []).append(score)
    return {key: statistics.fmean(by_rubric) for key, by_rubric in scores.items()}


def _between_levels(value: float, levels: Sequence[float]) -> float:
    """How far a value is from the nearest level, over half the distance between levels."""
    above = next((number for number, level in enumerate(levels) if level >= value), len(levels) - 1)
    if above == 0:
        return 0.0
    low, high = levels[above - 1], levels[above]
    return max(0.0, min(value - low, high - value) / ((high - low) / 2))


def _width(rubric: Rubric) -> float | None:
    return float(rubric.scale[-1].value - rubric.scale[0].value) if rubric.scale else None


# -- Two transcripts beside each other ------------------------------------------------------------------

#: What divides the pairs of a plan into strata.
SYSTEMS = "systems"


def pair_pool(
    run: Run, rubrics: Sequence[Rubric], systems: Sequence[str] | None, excluded: Collection[tuple[str, str]] = ()
) -> UnitPool:
    """The pairs of a run's transcripts that people can compare, by the two systems.

    Args:
        run: the run.
        rubrics: by which they are compared.
        systems: whose transcripts; those of all systems unless named.
        excluded: (transcript, unit) to leave out, whichever of the two is first.

    Raises:
        DataError: there is no such system, or no two have a case in common.
        RunError: the run keeps no text.
    """
    try:
        pairs = paired_transcripts(run, systems)
    except InputError as error:
        raise DataError(error.what, where=error.where, todo=error.todo) from error
    pool = UnitPool()
    for lacking in pairs.without_partner:
        pool.left_out[f"no counterpart of {lacking.other or 'any system'}"] += len(lacking.transcripts)
    transcripts = {transcript.id: transcript for transcript in run.transcripts_named(pairs.transcripts)}
    for pair in pairs.pairs:
        transcript, second = pair.transcripts
        reason = pair_problem(rubrics, transcripts[transcript], transcripts[second])
        if reason is None and {(transcript, pair_unit(second)), (second, pair_unit(transcript))} & {*excluded}:
            reason = "rated already"
        if reason is not None:
            pool.left_out[reason] += 1
            continue
        place = ":".join(("case", pair.case, *map(str, pair.levels)))
        pool.strata.setdefault((" – ".join(pair.systems),), []).append(
            DrawableUnit(transcript, pair_unit(second), place)
        )
    return pool


def in_random_order(drawn: Sequence[tuple[DrawableUnit, int]], seed: int) -> None:
    """Draw which of two transcripts is shown first: of each two systems, either is in half of the pairs."""
    by_stratum: dict[int, list[DrawableUnit]] = {}
    for unit, stratum in drawn:
        by_stratum.setdefault(stratum, []).append(unit)
    for stratum, units in by_stratum.items():
        generator = random.Random(f"{seed}:order:{stratum}")
        turned = [number % 2 == 0 for number in range(len(units))]
        # Of an odd number, which has one more is drawn, too.
        if generator.random() < 0.5:
            turned = [not turn for turn in turned]
        generator.shuffle(turned)
        for unit, turn in zip(units, turned, strict=True):
            if turn:
                unit.transcript, unit.unit = second_id(unit.unit), pair_unit(unit.transcript)


def turned_item(item: PlanItem) -> PlanItem:
    """The same two transcripts the other way round, as they are shown a second time."""
    return item.model_copy(
        update={
            "id": opaque_id(item.id, "turned"),
            "transcript": second_id(item.unit),
            "unit": pair_unit(item.transcript),
            "replicate": 1,
        }
    )


# -- Gold items -----------------------------------------------------------------------------------------


def gold_items(cases: Sequence[TrainingCase], identity: str, seed: int) -> tuple[GoldItem, ...]:
    """The gold items of a plan, in the order of their ids.

    Args:
        cases: units with known answers.
        identity: of the run.
        seed: of the plan.
    """
    items = (
        GoldItem(
            id=opaque_id(identity, seed, "gold", case.transcript, case.unit),
            transcript=case.transcript,
            unit=case.unit,
            content=case.content,
            answers=dict(case.answers),
        )
        for case in cases
    )
    return tuple(sorted(items, key=lambda item: item.id))


def with_gold(
    assignment: Mapping[str, Sequence[str]], gold: Sequence[GoldItem], *, before: int, share: float, seed: int
) -> dict[str, tuple[str, ...]]:
    """The assignment with gold items among each rater's others.

    A rater gets so many that they are ``share`` of what the rater is shown, rounded, at least one, and all there are
    where there are fewer; which ones is drawn for each rater. They are spread evenly: what a rater is shown is cut
    into as many stretches as there are gold items, and each has one at a place drawn at random.

    Args:
        assignment: rater → ids in the order they are shown.
        gold: all gold items.
        before: how many items come first in any case: the training set.
        share: above 0 and below 1.
        seed: of what is drawn.
    """
    return {
        rater: (*order[:before], *_mixed(order[before:], gold, share, random.Random(f"{seed}:gold:{rater}")))
        for rater, order in assignment.items()
    }


def _mixed(order: Sequence[str], gold: Sequence[GoldItem], share: float, rng: random.Random) -> list[str]:
    if not order:
        return []
    count = min(len(gold), max(1, round(share / (1 - share) * len(order))))
    drawn = [item.id for item in rng.sample(gold, count)]
    whole = len(order) + count
    ends = [whole * number // count for number in range(count + 1)]
    places = {rng.randrange(start, end) for start, end in pairwise(ends)}
    others = iter(order)
    return [drawn.pop() if place in places else next(others) for place in range(whole)]


def check_gold_share(share: float) -> None:
    """See that gold items can be this share of what a rater is shown.

    Raises:
        DataError: they can't.
    """
    if not 0 < share < 1:
        raise DataError(
            f"gold items are a share above 0 and below 1, and {share:g} is not",
            where="`gold_share`",
            todo="give .1 for one item in ten",
        )


def check_hidden(gold: Sequence[TrainingCase], training: Sequence[TrainingCase]) -> None:
    """See that raters aren't told the answers to gold items in training.

    Raises:
        DataError: a case is in both.
    """
    told = {(case.transcript, case.unit) for case in training}
    for case in gold:
        if (case.transcript, case.unit) in told:
            raise DataError(
                f"transcript {case.transcript!r} is in the training set and among the gold items",
                where="`gold`",
                todo="leave it out of one of them",
            )


# -- Which raters rate which item -----------------------------------------------------------------------

#: Designs with more different blocks than this are not made whole; their items are assigned one after another.
_WHOLE = 1000
#: Exchanges tried for each item, to balance pairs.
_EXCHANGES = 300

Block = tuple[int, ...]


def balanced_blocks(raters: int, size: int, count: int, seed: int) -> list[Block]:
    """``count`` blocks of ``size`` raters (from 0), such that loads and pairs of raters are balanced.

    As long as there are enough items, every block there can be is used equally often: loads are equal, and so are the
    items that two raters share. The rest is assigned to those with the least to do, and raters are then exchanged
    between items while that evens out the pairs. Loads differ by 1 at most, always; so do pair counts wherever the
    exchanges find such a design. Any run of consecutive blocks is nearly balanced too, so that items in the order of
    their strata are shared out within strata.

    Args:
        raters: number of raters.
        size: raters of one item, 1 to ``raters``.
        count: number of items.
        seed: of ties and exchanges.
    """
    rng = random.Random(seed)
    names = list(range(raters))
    rng.shuffle(names)
    blocks: list[Block] = []
    whole = comb(raters, size)
    if whole <= min(count, _WHOLE):
        every = list(combinations(range(raters), size))
        rng.shuffle(every)
        every = _in_balance(every, raters)
        blocks = every * (count // whole)
    remainder = _least_loaded(raters, size, count - len(blocks), rng)
    blocks += _in_balance(_even(remainder, raters, rng), raters)
    return [tuple(sorted(names[rater] for rater in block)) for block in blocks]


def _least_loaded(raters: int, size: int, count: int, rng: random.Random) -> list[Block]:
    """Each item to those with the fewest items; of several, to those who share the fewest."""
    loads = [0] * raters
    shared = np.zeros((raters, raters), dtype=int)
    blocks = []
    for _ in range(count):
        block: list[int] = []
        for _ in range(size):
            candidates = [rater for rater in range(raters) if rater not in block]
            rng.shuffle(candidates)
            together = shared[block].sum(axis=0)
            block.append(min(candidates, key=lambda rater: (loads[rater], together[rater])))
        for rater in block:
            loads[rater] += 1
        for a, b in combinations(block, 2):
            shared[a, b] += 1
            shared[b, a] += 1
        blocks.append(tuple(block))
    return blocks


def pair_counts(blocks: Sequence[Block], raters: int) -> dict[tuple[int, int], int]:
    """Items that each pair of raters shares."""
    counts = dict.fromkeys(combinations(range(raters), 2), 0)
    for block in blocks:
        for pair in combinations(sorted(block), 2):
            counts[pair] += 1
    return counts


def _even(blocks: list[Block], raters: int, rng: random.Random) -> list[Block]:
    """Exchange raters between items, which leaves loads as they are, while that evens out the pairs."""
    if not blocks or not 1 < len(blocks[0]) < raters:
        return blocks
    members = [set(block) for block in blocks]
    shared = np.zeros((raters, raters), dtype=int)
    for (a, b), number in pair_counts(blocks, raters).items():
        shared[a, b] = shared[b, a] = number
    upper = np.triu_indices(raters, 1)
    for _ in range(_EXCHANGES * len(members)):
        if np.ptp(shared[upper]) <= 1:
            break
        first, second = rng.randrange(len(members)), rng.randrange(len(members))
        mine, yours = sorted(members[first] - members[second]), sorted(members[second] - members[first])
        if not mine:
            continue
        a, b = rng.choice(mine), rng.choice(yours)
        with_a, with_b = sorted(members[first] - {a}), sorted(members[second] - {b})
        changed = shared.copy()
        for rater, companions, step in ((a, with_a, -1), (b, with_a, 1), (b, with_b, -1), (a, with_b, 1)):
            changed[rater, companions] += step
            changed[companions, rater] += step
        if (changed[upper] ** 2).sum() <= (shared[upper] ** 2).sum():
            shared = changed
            members[first] = {*with_a, b}
            members[second] = {*with_b, a}
    return [tuple(sorted(block)) for block in members]


def _in_balance(blocks: list[Block], raters: int) -> list[Block]:
    """The blocks in an order in which the next one is of those who had the fewest so far."""
    if not blocks:
        return blocks
    members = np.array(blocks)
    loads = np.zeros(raters, dtype=int)
    remaining = np.arange(len(blocks))
    order = []
    while remaining.size:
        # Squares, so that two loads of 2 come before loads of 1 and 3.
        at = int((loads[members[remaining]] ** 2).sum(axis=1).argmin())
        chosen = remaining[at]
        loads[members[chosen]] += 1
        remaining = np.delete(remaining, at)
        order.append(blocks[chosen])
    return order


def assigned_items(
    items: Sequence[PlanItem],
    places: Sequence[str],
    repeats: Mapping[str, PlanItem],
    training: Sequence[TrainingItem],
    raters: Sequence[str],
    *,
    overlap: int,
    shared: int,
    seed: int,
) -> dict[str, tuple[str, ...]]:
    """The items of each rater, in the order the rater sees them: the training set, then the others, shuffled.

    What is shown again comes in the second half, and its first showing in the first.

    Items of one place go to the same raters, so that a difference between systems on a case is no difference between
    raters, and everybody rates each system as often.

    Args:
        items: what is rated, stratum by stratum.
        places: the :attr:`~bedside.annotation.strata.DrawableUnit.place` of each item.
        repeats: id of an item → the item that shows it again to its raters.
        training: the training set, in order.
        raters: their names.
        overlap: raters of each item.
        shared: how many of the items all raters rate.
        seed: of everything drawn at random.
    """
    bundles: dict[str, list[str]] = {}
    for item, place in zip(items, places, strict=True):
        bundles.setdefault(place, []).append(item.id)
    # All raters rate whole bundles in an order drawn at random, the last one cut where it must be.
    drawn = random.Random(f"{seed}:shared").sample(sorted(bundles), len(bundles))
    shared_ids = set([item_id for place in drawn for item_id in bundles[place]][:shared])
    divided = [
        [item_id for item_id in bundle if item_id not in shared_ids]
        for bundle in sorted(bundles.values(), key=len, reverse=True)
    ]
    divided = [bundle for bundle in divided if bundle]
    blocks = balanced_blocks(len(raters), overlap, len(divided), seed)
    ids_by_rater: dict[str, list[str]] = {rater: sorted(shared_ids) for rater in raters}
    for bundle, block in zip(divided, blocks, strict=True):
        for position in block:
            ids_by_rater[raters[position]] += bundle
    training_ids = tuple(item.id for item in training)
    return {
        rater: (*training_ids, *_in_order(item_ids, repeats, random.Random(f"{seed}:order:{rater}")))
        for rater, item_ids in ids_by_rater.items()
    }


def _in_order(item_ids: Sequence[str], repeats: Mapping[str, PlanItem], rng: random.Random) -> list[str]:
    """The items of a rater and what they are shown again, shuffled within the first half and the second."""
    once = [item_id for item_id in item_ids if item_id not in repeats]
    rng.shuffle(once)
    repeated = [item_id for item_id in item_ids if item_id in repeats]
    middle = (len(once) + 1) // 2 if repeated else len(once)
    first, second = repeated + once[:middle], once[middle:] + [repeats[item_id].id for item_id in repeated]
    if repeated:
        rng.shuffle(first)
        rng.shuffle(second)
    return first + second


# -- The drawing of a plan ------------------------------------------------------------------------------

#: Raters of one item, or of a plan, at most.
MOST_RATERS = 100
#: Share of what a rater is shown that gold items are, where no other is named.
GOLD_SHARE = 0.1


def rater_slots(count: int) -> tuple[str, ...]:
    """Names for raters whose names aren't known yet."""
    return tuple(f"rater-{number}" for number in range(1, count + 1))


def make_plan(
    run: Run,
    *,
    mode: Mode,
    rubrics: Sequence[Rubric],
    raters: Sequence[str],
    by: Sequence[str] = (),
    per: int | None = None,
    overlap: int = 2,
    shared: int = 0,
    focus: Focus = "random",
    random_share: float = 0.0,
    judge: str | None = None,
    repeat: float = 0.0,
    training: Sequence[TrainingCase] = (),
    training_kappa: float | None = None,
    training_again: Sequence[TrainingCase] = (),
    share_size: int | None = None,
    gold: Sequence[TrainingCase] = (),
    gold_share: float = GOLD_SHARE,
    without: Iterable[tuple[str, str]] = (),
    systems: Sequence[str] | None = None,
    round: str = "",
    seed: int = 0,
) -> AnnotationPlan:
    """Draw an annotation plan.

    Units (transcripts, or turns where the rubrics are about turns; in mode pairs, two transcripts on one case, of which
    either is shown first in half of the pairs of two systems) are drawn from each stratum: at random; or, with
    another focus, ``random_share`` of them at random, and the others by their
    :func:`~bedside.annotation.sampling.priorities`. Raters are assigned in balanced blocks
    (:func:`~bedside.annotation.sampling.balanced_blocks`), stratum by stratum; each rater sees the training set first
    and then the items in an order of their own.

    Args:
        run: the run; it must keep the text.
        mode: how people rate.
        rubrics: what they are asked, all about transcripts or all about turns; of a sheet, and of a flow in mode rate,
            each question.
        raters: their names.
        by: what divides the strata: ``system``, ``case_id``, ``language`` or factors.
        per: units of each stratum; all unless given.
        overlap: raters of each item.
        shared: items that all raters rate.
        focus: what goes first.
        random_share: 0 … 1.
        judge: in audit mode, whose scores are shown; the run's only judge unless named.
        repeat: share of the items that their raters are shown a second time, 0 … 1: how well each agrees with
            themselves.
        training: the training set, in order.
        training_kappa: the kappa with the known answers that a rater must reach in training.
        training_again: a second training set, for who doesn't reach it in the first.
        share_size: most items that a rater gets beside training, gold and second showings, in the place of ``per``:
            as many units are drawn as fill all shares, and what doesn't come out even is not drawn.
        gold: units with known answers, hidden among the others and never counted as ratings.
        gold_share: share of what a rater is shown that they are.
        without: (transcript, unit) to leave out, such as those rated already.
        systems: in mode pairs, whose transcripts are compared; those of all systems unless named.
        round: the name of the round of annotation, such as pilot; a plan without one is a round of its own.
        seed: of everything drawn at random.

    Raises:
        DataError: a number, name, factor, focus or judge that doesn't fit, or nothing left to rate.
        RunError: the run keeps no text, or has system messages among its turns.
    """
    wholes = [rubric for rubric in rubrics if rubric.aggregate or rubric.kind == "flow"] if mode == "rate" else []
    asked_apart = ("sheet", "vector") if mode == "audit" else ("sheet",)
    rubrics = [
        part for rubric in rubrics
        for part in (rubric.question_rubrics if mode == "rate" or rubric.kind in asked_apart else (rubric,))
    ]  # fmt: skip
    _check_question(mode, rubrics, focus)
    _check_pairs(mode, by=by, focus=focus, training=training, gold=gold, systems=systems)
    check_gold_share(gold_share)
    _check_training_kappa(mode, rubrics, training, training_kappa)
    _check_second_set(mode, rubrics, training, training_again, training_kappa)
    _check_share_size(share_size, per)
    check_round(round)
    _check_numbers(raters, per, overlap, {"random_share": random_share, "repeat": repeat})
    run.check_told_apart()
    if mode == "audit":
        judge = _audited_judge(run, rubrics, judge)
    elif judge is not None:
        raise DataError(
            f"mode {mode} shows no judge's scores", where="`judge`", todo="leave it out, or choose `mode=audit`"
        )
    check_hidden(gold, (*training, *training_again))
    known = (*gold, *(case for case in training if case.content is None))
    excluded = {*without, *((case.transcript, case.unit) for case in known)}
    if mode == "pairs":
        by, pool = (SYSTEMS,), pair_pool(run, rubrics, systems, excluded)
    else:
        pool = unit_pool(run, mode, rubrics, by, judge, excluded)
    priority = {} if focus == "random" else priorities(run, focus, rubrics)
    identity = run_identity(run)

    def draw(pool: UnitPool, per: int | None) -> tuple[list[Stratum], list[tuple[DrawableUnit, int]]]:
        # Were the seed of a draw from what others left theirs, what they drew would tell what is drawn of the rest.
        return _drawn_strata(
            pool, by=by, per=per, priority=priority, focus=focus, random_share=random_share,
            seed=f"{seed}:{opaque_id(*sorted(excluded))}" if excluded else str(seed),
        )  # fmt: skip

    def largest_share(per: int) -> int:
        copied = UnitPool({values: [replace(unit) for unit in units] for values, units in pool.strata.items()})
        _, trial = draw(copied, per)
        shares = assigned_items(
            _plan_items(trial, identity, seed, mode), [unit.place for unit, _ in trial], {}, (), raters,
            overlap=overlap, shared=shared, seed=seed,
        )  # fmt: skip
        return max(map(len, shares.values()))

    if share_size is not None and pool.strata:
        per = _per_of_shares(pool, share_size, len(raters), overlap, shared)
        while per and largest_share(per) > share_size:
            per -= 1
        if not per:
            raise DataError(
                f"no share of {share_size} can hold all transcripts of a case and stratum",
                where="`each`",
                todo="give a higher number",
            )
    strata, drawn = draw(pool, per)
    if not drawn:
        raise _nothing_left(run, pool, [rubric.name for rubric in rubrics])
    if mode == "pairs":
        in_random_order(drawn, seed)
    items = _plan_items(drawn, identity, seed, mode)
    repeats = _repeated_items(items, repeat, seed)
    training_items, hidden = _training_items(training, identity, seed), gold_items(gold, identity, seed)
    second_set = _training_items(training_again, identity, seed, again=True)
    every: list[PlanItem | KnownItem] = [*items, *repeats.values(), *training_items, *second_set, *hidden]
    criteria, lists = point_criteria(run, rubrics, every), linked_lists(run, rubrics, every, judge)
    places = [unit.place for unit, _ in drawn]
    assignment = assigned_items(
        items, places, repeats, training_items, raters, overlap=overlap, shared=shared, seed=seed
    )
    settled = {
        name
        for name, own in lists.items()
        if len(own) == len(rubrics) and not any(one.rows for one in own.values())
        if rubrics[0].kind != "list"  # an empty list of a judge may lack something
    }
    if settled.issuperset(item.id for item in items):
        raise _nothing_left(run, pool, [rubric.name for rubric in rubrics])
    if hidden:
        assignment = with_gold(assignment, hidden, before=len(training_items), share=gold_share, seed=seed)
    return sealed(
        AnnotationPlan(
            mode=mode,
            run=identity,
            round=round,
            rubrics=planned_rubrics(rubrics),
            wholes=planned_rubrics(wholes),
            criteria=criteria,
            lists=lists,
            judge=judge,
            raters=tuple(raters),
            overlap=overlap,
            shared=min(shared, len(items)),
            by=tuple(by),
            focus=focus,
            random_share=random_share if focus != "random" else 1.0,
            seed=seed,
            strata=tuple(strata),
            left_out=dict(sorted(pool.left_out.items())),
            training=(*training_items, *second_set),
            training_kappa=training_kappa,
            gold=hidden,
            items=tuple(sorted((*items, *repeats.values()), key=lambda item: item.id)),
            assignment={
                rater: tuple(name for name in order if name not in settled) for rater, order in assignment.items()
            },
            settled={
                rater: own
                for rater, order in assignment.items()
                if (own := tuple(name for name in order if name in settled))
            },
        )
    )


def _drawn_strata(
    pool: UnitPool,
    *,
    by: Sequence[str],
    per: int | None,
    priority: Mapping[tuple[str, str], float],
    focus: Focus,
    random_share: float,
    seed: str,
) -> tuple[list[Stratum], list[tuple[DrawableUnit, int]]]:
    """The strata, and the units drawn from them, each with the position of its stratum."""
    strata, drawn = [], []
    for number, (values, units) in enumerate(sorted(pool.strata.items())):
        # What a cascade left to people is theirs, all of it.
        count = len(units) if per is None or TO_PEOPLE in values else per
        chosen = drawn_units(
            units=units, count=count, priority=priority, focus=focus, random_share=random_share, seed=seed
        )
        factors = dict(zip(by, values, strict=True))
        strata.append(Stratum(factors=factors, available=len(units), wanted=count, drawn=len(chosen)))
        drawn += [(unit, number) for unit in chosen]
    return strata, drawn


def _nothing_left(run: Run, pool: UnitPool, rubrics: Sequence[str]) -> DataError:
    reasons = "; ".join(f"{count} {reason}" for reason, count in pool.left_out.items())
    return DataError(
        f"nothing is left to rate by {', '.join(rubrics)}{f' ({reasons})' if reasons else ''}",
        where=str(run.path),
        todo="choose other rubrics, or leave out fewer units",
    )


def _plan_items(drawn: Sequence[tuple[DrawableUnit, int]], identity: str, seed: int, mode: Mode) -> list[PlanItem]:
    """The plan's items, in the order of their strata."""
    return [
        PlanItem(
            id=opaque_id(identity, seed, mode, unit.transcript, unit.unit),
            transcript=unit.transcript,
            unit=unit.unit,
            stratum=stratum,
            drawn=unit.drawn,
            chance=unit.chance,
        )
        for unit, stratum in drawn
    ]


def _repeated_items(items: Sequence[PlanItem], share: float, seed: int) -> dict[str, PlanItem]:
    """Id of an item → the item that shows it again, of a share of them drawn at random."""
    count = math.ceil(share * len(items) - 1e-9)
    drawn = random.Random(f"{seed}:repeat").sample(sorted(items, key=lambda item: item.id), count)
    return {
        item.id: turned_item(item)
        if is_pair(item.unit)
        else item.model_copy(update={"id": opaque_id(item.id, "again"), "replicate": 1})
        for item in drawn
    }


def _training_items(
    training: Sequence[TrainingCase], identity: str, seed: int, *, again: bool = False
) -> tuple[TrainingItem, ...]:
    return tuple(
        TrainingItem(
            id=opaque_id(identity, seed, "training", case.transcript, case.unit),
            transcript=case.transcript,
            unit=case.unit,
            content=case.content,
            answers=dict(case.answers),
            again=again,
        )
        for case in training
    )


def _per_of_shares(pool: UnitPool, share_size: int, raters: int, overlap: int, shared: int) -> int:
    """How many units of each stratum fill all shares, rounded down.

    Raises:
        DataError: there are fewer, or a cascade draws them.
    """
    if any(TO_PEOPLE in values for values in pool.strata):
        raise DataError("a cascade says how many are drawn", where="`each`", todo="leave out `cascade`")
    whole = shared + raters * (share_size - shared) // overlap
    per, fewest = whole // len(pool.strata), min(map(len, pool.strata.values()))
    if per > fewest:
        what = f"{raters} shares of {share_size} with an overlap of {overlap} take {whole} units"
        if len(pool.strata) > 1:
            what += f", {per} of each stratum"
        raise DataError(
            f"{what}, and there are {fewest}",
            where="`each`",
            todo="give a lower number, fewer `raters`, or a larger `overlap`",
        )
    return per


def _check_share_size(share_size: int | None, per: int | None) -> None:
    if share_size is None:
        return
    if share_size < 1:
        raise DataError(
            f"a share holds an item or more, and {share_size} is less", where="`each`", todo="give 20 or so"
        )
    if per is not None:
        raise DataError("shares and strata both say how many are drawn", where="`each`", todo="leave out `per`")


def _check_second_set(
    mode: Mode,
    rubrics: Sequence[Rubric],
    training: Sequence[TrainingCase],
    again: Sequence[TrainingCase],
    wanted: float | None,
) -> None:
    """See that somebody can fail the first training set, and isn't shown it again."""
    if not again:
        return
    if not training or wanted is None:
        raise DataError(
            "a second training set is for who fails the first",
            where="`training_again`",
            todo="give `training` and `training_kappa`, too",
        )
    _check_training_kappa(mode, rubrics, again, wanted)
    first = {(case.transcript, case.unit) for case in training}
    for case in again:
        if (case.transcript, case.unit) in first:
            raise DataError(
                f"transcript {case.transcript!r} is in both training sets",
                where="`training_again`",
                todo="leave it out of one of them",
            )


def _check_question(mode: Mode, rubrics: Sequence[Rubric], focus: str) -> None:
    one_of(mode, MODES, "mode", DataError, where="`mode`")
    one_of(focus, FOCI, "focus", DataError, where="`focus`")
    if not rubrics:
        raise DataError("no rubric is named", where="`rubrics`", todo="name one or more")
    try:
        check_rubrics(mode, rubrics)
    except ValueError as error:
        raise DataError(str(error), where="`rubrics`", todo="choose other rubrics, or another `mode`") from error


def _check_training_kappa(
    mode: Mode, rubrics: Sequence[Rubric], training: Sequence[TrainingCase], wanted: float | None
) -> None:
    """See that kappa can be told of a training set, for every rubric."""
    if wanted is None:
        return
    if not -1 <= wanted <= 1:
        raise DataError(f"kappa is at most 1, and {wanted:g} is not", where="`training_kappa`", todo="give .6 or so")
    if not training or mode == "findings":
        raise DataError(
            "kappa is that with the known answers of a training set" if not training else "lists have no kappa",
            where="`training_kappa`",
            todo="leave it out" if training else "give a training set with `training`, or leave it out",
        )
    for rubric, linked in ((one.name, one.kind in LINKED_KINDS) for one in rubrics):
        known = [case.answers[rubric] for case in training if rubric in case.answers]
        answers = {str(answer) for own in known for answer in _known_answers(own, rubric if linked else "")}
        if known and (answers <= {NONE} if linked else len(answers) < 2):
            raise DataError(
                f"all known answers on {rubric} are the same, and whether a rater tells answers apart can't be seen",
                where="`training`",
                todo="add cases with another answer, or leave `training_kappa` out",
            )


def _known_answers(answer: object, linking: str) -> list[object]:
    """The known answers of a case: one, or one for each turn; of a rubric of links, what each entry is linked to."""
    if not isinstance(answer, dict):
        return [answer]
    return [said for name, said in answer.items() if not linking or name.rpartition("__")[0] == linking]


def _check_pairs(
    mode: Mode, *, by: Sequence[str], focus: Focus, training: object, gold: object, systems: object
) -> None:
    """See that what is said goes with the mode: pairs are drawn from every two systems alike, at random."""
    if mode != "pairs" and systems is not None:
        raise DataError(
            f"mode {mode} compares no systems", where="`systems`", todo="leave it out, or choose `mode=pairs`"
        )
    names = {"by": bool(by), "focus": focus != "random", "training": bool(training), "gold": bool(gold)}
    for name, typed in names.items():
        if mode == "pairs" and typed:
            raise DataError(
                "pairs are drawn at random from every two systems, and have no training set or gold items",
                where=f"`{name}`",
                todo="leave it out",
            )


def check_raters(raters: Sequence[str], where: str = "`raters`") -> None:
    """See that a plan can have these raters.

    Args:
        raters: their names.
        where: the argument that names them.

    Raises:
        DataError: it can't.
    """
    if not 1 <= len(raters) <= MOST_RATERS:
        raise DataError(
            f"a plan has 1 to {MOST_RATERS} raters, and {len(raters)} are named",
            where=where,
            todo="name them, or give their number",
        )
    for rater in raters:
        if not re.fullmatch(RATER, rater):
            raise DataError(f"{rater!r} can't be a rater's name", where=where, todo="use letters, digits and . _ - + @")
        if not can_name_a_file(rater):
            raise DataError(
                f"{rater!r} can't be a rater's name: Windows has no file of that name", where=where, todo="add a letter"
            )
    if len({rater.casefold() for rater in raters}) < len(raters):
        raise DataError("a rater is named twice", where=where, todo="give each a name of their own")


def _check_numbers(raters: Sequence[str], per: int | None, overlap: int, shares: Mapping[str, float]) -> None:
    check_raters(raters)
    if not 1 <= overlap <= len(raters):
        raise DataError(
            f"an overlap of {overlap} needs as many raters, and there are {len(raters)}",
            where="`overlap`",
            todo="name more `raters`, or choose an overlap from 1 to their number",
        )
    if per is not None and per < 1:
        raise DataError(
            f"at least one unit of each stratum must be drawn, and {per} is less",
            where="`per`",
            todo="give a number from 1",
        )
    for argument, share in shares.items():
        if not 0 <= share <= 1:
            raise DataError(
                f"a share must lie between 0 and 1, and {share:g} does not",
                where=f"`{argument}`",
                todo="give a number from 0 to 1",
            )


def _audited_judge(run: Run, rubrics: Sequence[Rubric], judge: str | None) -> str:
    """The judge whose scores are shown: the one that is named, or the only one that rated by the rubrics."""
    names = [rubric.name for rubric in rubrics]
    rated = run.ratings.filter(pl.col("metric").is_in(names), pl.col("error").is_null())
    judges = sorted(rated.filter(rated_by_judges())["rater"].unique())
    # A jury is shown where it is named, and never stands for the only judge.
    juries = rated.filter(rated_by_juries())["rater"].unique()
    if judge is not None and (judge in judges or judge in juries):
        return judge
    if judge is None and len(judges) == 1:
        return str(judges[0])
    if not judges:
        raise DataError(
            f"no judge has rated the run by {', '.join(names)}",
            where=str(run.path),
            todo="have it judged first: bedside score --judge MODEL",
        )
    what = (
        f"{judge!r} has rated nothing by {', '.join(names)}"
        if judge is not None
        else f"{len(judges)} judges have rated the run"
    )
    raise DataError(what, where="`judge`", todo=f"name one: {', '.join(judges)}")

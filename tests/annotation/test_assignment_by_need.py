"""Items by need: who is asked what next, what dropouts leave, what comes late, when it ends, and what is said then."""

from __future__ import annotations

import heapq
import random
import time
from collections import Counter
from datetime import UTC, datetime
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

import bedside
from bedside.analysis.rater_effects import generalities
from bedside.analysis.ratings_view import open_ratings_view
from bedside.annotation import assignment_by_need
from bedside.annotation.annotation_plan import AnnotationPlan
from bedside.annotation.answer_store import plan_folder, read_store
from bedside.annotation.assignment_by_need import (
    BATCH,
    NeedDesign,
    WorkDone,
    begin,
    hand_out,
    is_reached,
    need_design,
    next_batch,
    take_back,
)
from bedside.annotation.plan_progress import StudyProgress, study_progress
from bedside.annotation.proposals import follow_up_plan, propose
from bedside.annotation.rating_page import page_database
from bedside.annotation.rating_page.page_collection import collect
from bedside.annotation.rating_page.page_state import NoSuchItemError, PageState
from bedside.annotation.reassignment import as_assigned, decide, need_of, reassign
from bedside.annotation.strata import places_of
from bedside.annotation.study_targets import read_targets, target_states
from bedside.annotation.training_cases import TrainingCase
from bedside.core.errors import InputError
from bedside.ratings.run import Run
from bedside.reports.finding_words import sentences
from bedside.scoring.score import score
from tests.annotation.builders import keep
from tests.annotation.rating_page.pages import opened, sent
from tests.annotation.study import EMPATHY, levels, new_study, rating_plan, write_transcripts

HOUR = 3600


class Clock:
    """The time of a study that runs faster than its raters."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = time.time()
        for module in (page_database, assignment_by_need):
            monkeypatch.setattr(module, "time_now", lambda: datetime.fromtimestamp(self.now, UTC))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def begun(run: Run, plan: AnnotationPlan, until: str = "kappa±.1") -> PageState:
    """The page of a plan whose items go to raters by need."""
    begin(run, plan, until, 24.0, WorkDone())
    return opened(plan, run)[0]


def is_open(state: PageState, rater: str) -> list[str]:
    return [item["item"] for item in state.share(rater)["items"] if item["handed_in"] is None]


def hand_in(state: PageState, rater: str, item: str, level: int = 3) -> None:
    version = state.database.entry(item, rater).version
    state.save(rater, item, sent(choices={"empathy": str(level), "goal_alignment": "2"}, version=version))


# -- The design -------------------------------------------------------------------------------------


def test_items_enter_at_random_and_those_of_a_case_together(run: Run) -> None:
    plan = rating_plan(run, overlap=2, shared=2)
    design = need_design(run, plan)
    cases = dict(run.index.select("id", "case_id").iter_rows())
    of_case = {item.id: cases[item.transcript] for item in plan.items}
    assert sorted(item for bundle in design.bundles for item in bundle) == sorted(of_case)
    assert all(len({of_case[item] for item in bundle}) == 1 for bundle in design.bundles)
    assert Counter(design.wanted.values()) == {2: 10, 3: 2}
    other = NeedDesign(plan.model_copy(update={"seed": 8}), places_of(run))
    assert sorted(other.bundles) == sorted(design.bundles)
    assert other.bundles != design.bundles


def test_what_is_begun_is_made_whole_first_and_pairs_stay_in_balance(tmp_path: Path) -> None:
    """Six raters by turns, one case at a time: no pair is more than one case ahead of any other of the same rater."""
    run = new_study(tmp_path, cases=30)
    names = tuple("abcdef")
    design = need_design(run, rating_plan(run, raters=names, overlap=2))
    shares: dict[str, set[str]] = {name: set() for name in names}
    raters: dict[str, list[str]] = {}
    for turn in range(60):
        name = names[turn % 6]
        chosen = design.next_items(name, shares, 1)
        assert len(chosen) == 2
        shares[name] |= set(chosen)
        for item in chosen:
            raters.setdefault(item, []).append(name)
        half = sum(len(who) < 2 for who in raters.values()) // 2
        assert half <= 7
    assert all(len(set(who)) == len(who) <= 2 for who in raters.values())
    pairs = Counter(frozenset(who) for who in raters.values() if len(who) == 2)
    counts = [pairs[frozenset(pair)] // 2 for pair in combinations(names, 2)]
    assert max(counts) - min(counts) <= 1
    assert {len(share) for share in shares.values()} == {20}
    assert design.next_items("a", {**shares, "a": set(raters)}, 5) == []


def test_gold_items_and_second_showings_come_in_their_share(tmp_path: Path) -> None:
    run = new_study(tmp_path, cases=20)
    gold = [TrainingCase(name, {"empathy": "4"}) for name in run.index["id"][:4]]
    plan = rating_plan(
        run, rubrics=(EMPATHY,), raters=("anna", "ben"), overlap=2, gold=gold, gold_share=0.1, repeat=0.2
    )
    state = begun(run, plan)
    shown: list[str] = []
    while len(shown) < 200 and (now := is_open(state, "anna")):
        shown.append(now[0])
        state.save("anna", now[0], sent(choices={"empathy": "3"}))
    # All that the plan would have shown her, in the end; gold after as many others as there.
    assert sorted(shown) == sorted(plan.assignment["anna"])
    known, again = {item.id for item in plan.gold}, {item.id for item in plan.items if item.replicate}
    drawn, given = (
        [sum(name not in known | again for name in order[: order.index(item)]) for item in order if item in known]
        for order in (list(plan.assignment["anna"]), shown)
    )
    assert given == drawn
    assert given
    firsts = {item.id: next(i.id for i in plan.items if i.transcript == item.transcript and not i.replicate)
              for item in plan.items if item.replicate}  # fmt: skip
    apart = [shown.index(item) - shown.index(first) for item, first in firsts.items()]
    assert len(apart) == 8
    assert sorted(apart)[2] >= 10


def test_training_comes_first(run: Run) -> None:
    training = [TrainingCase(name, {"empathy": level}) for name, level in zip(run.index["id"][:2], "42", strict=True)]
    plan = rating_plan(run, rubrics=(EMPATHY,), raters=("anna", "ben"), training=training, training_kappa=0.5)
    state = begun(run, plan)
    assert state.share("anna")["supply"] == "more"
    known = {item.id: item.answers["empathy"] for item in plan.training}
    assert [item["item"] for item in state.share("anna")["items"]] == list(known)
    for rater, right in (("anna", True), ("ben", False)):
        for item, level in known.items():
            state.save(rater, item, sent(choices={"empathy": level if right else "1"}))
    assert len(is_open(state, "anna")) >= BATCH
    assert is_open(state, "ben") == []
    assert state.share("ben")["supply"] is None


# -- Dropouts, and what comes late ------------------------------------------------------------------


def test_what_lies_idle_goes_to_somebody_else_and_counts_late_where_nobody_has_it(run: Run, clock: Clock) -> None:
    """Anna is given six items of twelve and goes; a day later they are free, and Ben takes some of them. What she
    hands in then counts where nobody else has it, and else is only kept."""
    plan = rating_plan(run, raters=("anna", "ben"), overlap=1)
    state = begun(run, plan)
    folder = opened(plan, run)[1]
    hand_out(run, need_design(run, plan), "anna", WorkDone(), batch=6)
    annas = is_open(state, "anna")
    assert len(annas) == 6
    clock.now += 23 * HOUR
    while bens := [item for item in is_open(state, "ben") if item not in annas]:
        hand_in(state, "ben", bens[0])
        assert set(is_open(state, "anna")) == set(annas)
        if len(state.database.answers("ben")) == 6:
            break
    clock.now += 2 * HOUR
    taken = [item for item in is_open(state, "ben") if item in annas]
    free = [item for item in annas if item not in taken]
    assert taken
    assert free
    assert set(state.plan.assignment["anna"]).isdisjoint(annas)
    # Both stand open on her page still.
    for item in (taken[0], free[0]):
        assert state.item("anna", item)["entry"]["state"] == "open"
        hand_in(state, "anna", item, 5)
    collect(folder, run, state.plan)
    answered = set(read_store(run, plan).answers())
    assert {(free[0], "anna")} == {key for key in answered if key[1] == "anna"}
    assert free[0] in state.plan.assignment["anna"]
    assert [answer.item for answer in state.database.answers("anna")] == [taken[0], free[0]]
    # It is of no use that Ben drops out later, but for what Anna has handed in already: that has the place then.
    clock.now += 30 * HOUR
    state.share("anna")
    collect(folder, Run(run.path), state.plan)
    assert (taken[0], "anna") in read_store(run, plan).answers()
    with pytest.raises(NoSuchItemError):
        hand_in(state, "anna", next(item.id for item in plan.items if item.id in state.plan.assignment["ben"]))


def test_nobody_is_asked_for_more_than_their_share_and_their_part_of_what_dropouts_left(run: Run, clock: Clock) -> None:
    plan = rating_plan(run, raters=("anna", "ben", "cleo"), overlap=1)
    state = begun(run, plan)

    def works(rater: str) -> int:
        while items := is_open(state, rater):
            hand_in(state, rater, items[0])
        return len(state.database.answers(rater))

    assert works("anna") == 4
    # What nobody has begun may become hers.
    assert state.share("anna")["supply"] == "later"
    clock.now += 25 * HOUR
    # Cleo never came: her four are Anna's and Ben's, who comes now.
    assert works("ben") == 6
    assert works("anna") == 6
    assert {len(raters) for raters in state.plan.raters_of.values()} == {1}
    assert {state.share(rater)["supply"] for rater in ("anna", "ben")} == {"done"}


def test_who_drops_out_by_command_gets_nothing_more(run: Run) -> None:
    plan = rating_plan(run, raters=("anna", "ben", "cleo"), overlap=1)
    state = begun(run, plan)
    items = is_open(state, "ben")
    is_open(state, "anna")
    reassign(run, plan, "ben", ["anna"])
    assert state.share("ben")["items"] == []
    assert set(items) <= set(is_open(state, "anna"))
    need = need_of(run, plan)
    assert need is not None
    assert set(items) <= need.handed["anna"].keys()


def test_agreement_knows_who_came_after_the_plan_was_drawn(run: Run) -> None:
    plan = rating_plan(run, raters=("anna", "ben"), overlap=2)
    state = begun(run, plan)
    folder = opened(plan, run)[1]
    is_open(state, "ben")
    reassign(run, plan, "ben", ["dan"])
    for rater in ("anna", "dan"):
        while items := is_open(state, rater):
            hand_in(state, rater, items[0], 1 + int(items[0][1], 16) % 5)
    collect(folder, run, state.plan)
    done = len(read_store(run, state.plan).answers())
    progress = study_progress(Run(run.path), [f"plan-{folder.path.name}"])
    assert (progress.planned, progress.rated, progress.open) == (24, done, 24 - done)
    empathy = bedside.agree(run.path, metrics="empathy").results[0]
    both = set.intersection(*(set(state.plan.assignment[rater]) for rater in ("anna", "dan")))
    assert (empathy.raters, empathy.units, empathy.statistics["kappa"].estimate) == (
        ("human:anna", "human:dan"),
        len(both),
        1.0,
    )
    assert bedside.compare(run.path, metrics="empathy").results


def test_a_person_gets_a_share_of_so_many_and_leaves_the_rest(run: Run) -> None:
    plan = rating_plan(run, raters=("slot-1", "slot-2"), overlap=2)
    begin(run, plan, "kappa±.1", 24.0, WorkDone())
    design = need_design(run, plan)
    assert hand_out(run, design, "p-1", WorkDone(), most=6) == "more"
    first = as_assigned(run, plan).assignment["p-1"]
    done = {(item, "p-1") for item in first}
    assert hand_out(run, design, "p-1", WorkDone(done), most=6) == "more"
    rest = [item for item in as_assigned(run, plan).assignment["p-1"] if item not in first]
    assert (len(first), len(rest)) == (4, 2)
    take_back(run, plan, "p-1", first)
    assert as_assigned(run, plan).assignment["p-1"] == first
    assert hand_out(run, design, "p-2", WorkDone(done), most=4) == "more"
    assert set(as_assigned(run, plan).assignment["p-2"]) == set(first)
    done |= {(item, "p-2") for item in first}
    assert hand_out(run, design, "p-2", WorkDone(done), most=4) == "done"


def test_one_more_rater_where_people_differ_changes_no_number(tmp_path: Path) -> None:
    """Picked for their disagreement, such ratings enter neither agreement nor means, nor what the targets are told."""
    run = score([write_transcripts(tmp_path / "in.jsonl")], tmp_path / "run", metrics=["structure"]).run
    plan = rating_plan(run, rubrics=(EMPATHY,), raters=("anna", "ben", "cleo"), overlap=2)
    keep(run, plan, lambda item, rater: {"empathy": str(1 + (int(item[1:6], 16) + 2 * (rater < "b")) % 5)})

    def numbers() -> Any:
        current = Run(run.path)
        agreed = [row.statistics for row in bedside.agree(run.path, metrics="empathy").results if row.kind == "people"]
        (general,), _ = generalities(open_ratings_view(run.path), ["empathy"])
        return (
            agreed,
            (general.study.of_cases, general.study.of_raters, general.study.of_both),
            target_states(current, plan, read_targets("alpha±.1, mean±.2")),
        )

    before = numbers()
    proposals = propose(Run(run.path), plan, aim="disagreement", count=4)
    assert all(each.reason.startswith("people gave") for each in proposals.proposals)
    more = follow_up_plan(Run(run.path), plan, proposals)
    assert {len(raters) for raters in more.raters_of.values()} == {1}
    assert keep(Run(run.path), more, lambda item, rater: {"empathy": "1"}).new == 4
    assert numbers() == before


# -- The end ----------------------------------------------------------------------------------------


def test_when_it_is_enough_who_is_at_an_item_may_finish_it(run: Run) -> None:
    plan = rating_plan(run, raters=("anna", "ben"), overlap=2)
    state = begun(run, plan)
    begun_item, other, *_ = is_open(state, "anna")
    state.save("anna", begun_item, sent("draft", {"empathy": "4"}))
    hand_in(state, "ben", is_open(state, "ben")[0])
    state.stop()
    shares = {rater: state.share(rater) for rater in plan.raters}
    assert [shares[rater]["supply"] for rater in plan.raters] == ["enough", "enough"]
    assert is_open(state, "anna") == [begun_item]
    assert is_open(state, "ben") == []
    # What is on her screen, without a word of hers yet, is taken all the same.
    hand_in(state, "anna", other)
    assert other in state.plan.assignment["anna"]
    # The same targets end it as they did; others have it go on.
    assert begin(run, plan, "kappa±.1", 24.0, WorkDone()).stopped
    assert not begin(run, plan, "kappa±.05", 24.0, WorkDone()).stopped
    assert len(is_open(state, "ben")) >= BATCH


def test_a_study_that_ended_is_no_running_one_and_what_is_half_done_does_not_enter(run: Run) -> None:
    plan = rating_plan(run, raters=("anna", "ben"), overlap=2)
    state = begun(run, plan)
    folder = opened(plan, run)[1]
    rounds = [f"plan-{folder.path.name}"]
    for rater, count in (("anna", 8), ("ben", 10)):
        for _ in range(count):
            hand_in(state, rater, is_open(state, rater)[0], 1 + int(is_open(state, rater)[0][1], 16) % 5)
    collect(folder, run, state.plan)
    every = frozenset(item.transcript for item in plan.items)
    running = study_progress(Run(run.path), rounds)
    assert (running.planned, running.rated, running.open, running.enough) == (24, 18, 6, None)
    assert bedside.agree(run.path, metrics="empathy").findings[1].kind == "a look"
    state.stop()
    answers = Counter(item for item, _ in read_store(run, plan).answers())
    whole = sum(count == 2 for count in answers.values())
    ended = study_progress(Run(run.path), rounds)
    half = {item.transcript for item in plan.items if answers[item.id] < 2}
    places = frozenset((rounds[0], transcript, "transcript") for transcript in half)
    assert ended == StudyProgress(18, 18, 0, every, frozenset(), (whole, 12), places)
    assert 0 < whole < 12
    agreed = bedside.agree(run.path, metrics="empathy")
    assert [finding.kind for finding in agreed.findings][1] == "enough"
    line = f"People stopped when it was precise enough: {whole} of 12 items have all their ratings."
    assert line in sentences(agreed.findings)
    assert agreed.results[0].units == whole


def test_a_plan_goes_by_need_with_what_was_answered_before(run: Run) -> None:
    plan = rating_plan(run, raters=("anna", "ben"), overlap=2)
    done = {item.id for item in plan.items[:5]}
    keep(run, plan, lambda item, rater: levels(item, rater) if rater == "anna" and item in done else None)
    begin(run, plan, "kappa±.1", 24.0, assignment_by_need.stored_work(Run(run.path), plan))
    now = as_assigned(run, plan)
    assert (set(now.assignment["anna"]), now.assignment["ben"]) == (done, ())
    batch = next_batch(Run(run.path), now)
    assert [len(batch.assignment[rater]) for rater in ("anna", "ben")] == [12, 6]
    assert set(batch.assignment["anna"]) >= done
    assert batch.assignment == as_assigned(run, plan).assignment
    excluded = decide(run, plan, "ben", "exclude")
    had = len(excluded.assignment["ben"])
    rest = next_batch(Run(run.path), excluded, batch=9)
    assert len(rest.assignment["ben"]) == had
    assert len(rest.assignment["anna"]) >= 12
    for idle in (0.0, float("inf"), float("nan")):
        with pytest.raises(InputError, match="number of hours"):
            begin(run, plan, "kappa±.1", idle, WorkDone())


# -- Speed, and a whole study -----------------------------------------------------------------------


@pytest.mark.slow
def test_a_hand_out_takes_no_time(tmp_path: Path) -> None:
    """30 raters, 2,000 items, most ratings in: under 50 ms beside the disk, and the record stays small."""
    run = new_study(tmp_path, cases=1000)
    plan = rating_plan(run, raters=tuple(f"r{number}" for number in range(30)), overlap=2)
    begin(run, plan, "kappa±.01", 24.0, WorkDone())
    design = need_design(run, plan)
    answered: set[tuple[str, str]] = set()
    seconds: list[float] = []
    while not seconds or len(answered) < 3600:
        for rater in plan.raters:
            started = time.process_time()
            hand_out(run, design, rater, WorkDone(answered), batch=40 if len(answered) < 3400 else BATCH)
            seconds.append(time.process_time() - started)
            answered |= {(item, rater) for item in as_assigned(run, plan).assignment[rater]}
    assert sorted(seconds)[len(seconds) // 2] < 0.05
    file = plan_folder(run, plan) / "reassigned.json"
    assert file.stat().st_size < 150_000


@pytest.mark.slow
def test_twenty_raters_of_whom_six_drop_out_rate_until_it_is_enough(tmp_path: Path, clock: Clock) -> None:
    """On average four fifths of the ratings, or fewer, are enough."""
    shares = [share_until_enough(tmp_path / str(seed), clock, seed) for seed in range(1, 5)]
    assert sum(shares) / len(shares) <= 0.8


def share_until_enough(tmp_path: Path, clock: Clock, seed: int) -> float:
    """Raters of different speed, a third of them gone after a few items, on the page without its network: nothing is
    lost, and every item that is whole has two raters. The share of the plan's ratings that were enough."""
    tmp_path.mkdir()
    run = new_study(tmp_path, cases=150)
    names = tuple(f"r{number}" for number in range(20))
    plan = rating_plan(run, rubrics=(EMPATHY,), raters=names, overlap=2, seed=seed)
    state = begun(run, plan, UNTIL)
    folder = opened(plan, run)[1]
    rng = random.Random(seed)
    truth = {item.id: rng.gauss(0, 1) for item in plan.items}
    hours = {name: rng.uniform(0.3, 1.2) for name in names}
    leaves = {name: rng.randrange(1, 9) for name in rng.sample(names, 6)}
    said: dict[tuple[str, str], int] = {}
    visits = [(clock.now + rng.uniform(0, 20) * HOUR, name) for name in names]
    heapq.heapify(visits)
    looked = 0
    while visits:
        when, name = heapq.heappop(visits)
        clock.now = max(clock.now, when)
        mine = sum(rater == name for _, rater in said)
        items = is_open(state, name)
        if leaves.get(name) == mine:
            continue
        if items:
            level = min(5, max(1, round(3 + 1.2 * (truth[items[0]] + rng.gauss(0, 0.5)))))
            state.save(name, items[0], sent(choices={"empathy": str(level)}))
            said[items[0], name] = level
        elif state.share(name)["supply"] != "later":
            continue
        heapq.heappush(visits, (clock.now + HOUR * hours[name] * rng.uniform(0.5, 2), name))
        if len(said) >= looked + 40 and not (state.need and state.need.stopped):
            looked = len(said)
            collect(folder, Run(run.path), state.plan)
            assert state.need is not None
            if is_reached(run.path, state.plan, state.need):
                state.stop()
    assert state.need is not None
    assert state.need.stopped
    collect(folder, Run(run.path), state.plan)
    answers = read_store(run, plan).answers()
    assert {key: int(answer.choices["empathy"][0]) for key, answer in answers.items()} == said
    raters = Counter(item for item, _ in said)
    assert set(raters.values()) <= {1, 2}
    whole = {item: frozenset(rater for one, rater in said if one == item) for item in raters if raters[item] == 2}
    assert all(len(who) == 2 for who in whole.values())
    assert len(raters) - len(whole) <= 2 * len(names)
    # Cases, of which each has two items.
    pairs = Counter(whole.values())
    stay = [name for name in names if name not in leaves]
    counts = [pairs[frozenset(pair)] / 2 for pair in combinations(stay, 2)]
    assert max(counts) - min(counts) <= 2
    # What the rule saw is what is printed.
    (shown,) = target_states(Run(run.path), plan, read_targets(UNTIL))
    (row,) = [row for row in bedside.agree(run.path, metrics="empathy").results if row.kind == "people"]
    assert row.statistics[shown.statistic].interval == shown.interval
    assert row.statistics[shown.statistic].estimate == shown.estimate
    estimated = [
        state for state in target_states(Run(run.path), plan, read_targets("mean±.2")) if state.interval is not None
    ]
    assert len(estimated) == 2
    return len(said) / sum(map(len, plan.assignment.values()))


UNTIL = "kappa±.07"

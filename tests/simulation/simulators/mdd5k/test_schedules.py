"""Which topic comes next: the figures that the source's rules give, and what holds whatever is said."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Generator, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from bedside.simulation.simulators.contract import Draws
from bedside.simulation.simulators.mdd5k.doctor import PARSE
from bedside.simulation.simulators.mdd5k.interview import most_exchanges, most_released_exchanges, overruled
from tests.simulation.simulators.mdd5k.scripted_steps import GROUPS, ScriptedSteps, corrected, often, released, tree
from tests.soak import budget

SEEDS = range(150)
groups = pytest.mark.parametrize("group", GROUPS)

# -- as released: figures of the authors' code run with every verdict "end" --------------------------------

#: Topics before anything grows; exchanges before the closing; the share of interviews whose tree grows, in sixths.
RELEASED = {
    "female_teen": (21, {20, 21, 22}, 4),
    "female_adult": (20, {19}, 0),
    "male_teen": (19, {18, 19, 20}, 2),
    "male_adult": (18, {17}, 0),
}


def kinds_of(seed: int, number: int) -> int:
    return 2 + seed % 2


@groups
def test_the_released_schedule_has_the_figures_of_the_authors_code(group: str) -> None:
    topics, exchanges, sixths = RELEASED[group]
    lengths, grew = set(), 0
    for seed in SEEDS:
        steps = ScriptedSteps(kinds=partial(kinds_of, seed))
        schedule = released(group, seed, steps)
        assert len(schedule.log.order) == topics
        lengths.add(steps.exchanges)
        grew += bool(schedule.log.angles)
        assert steps.exchanges <= most_released_exchanges(tree(group).leaves)
    assert lengths == exchanges
    expected = len(SEEDS) * sixths / 6
    assert abs(grew - expected) <= 4 * (len(SEEDS) * sixths / 6 * (1 - sixths / 6)) ** 0.5


def test_men_have_no_opening_topic_and_women_do() -> None:
    for seed in range(20):
        for group in GROUPS:
            steps = ScriptedSteps()
            schedule = released(group, seed, steps)
            opening = steps.asked[0].text
            assert steps.asked[0].opening
            if group.startswith("female"):
                assert opening == tree(group).root
            else:
                assert opening == schedule.order[0]
                assert opening in tree(group).events
    assert opening == PARSE  # for men the events are that one leaf


def test_the_second_topic_is_judged_before_it_was_asked_about() -> None:
    steps = ScriptedSteps()
    schedule = released("male_adult", 3, steps)
    assert steps.judged[0] == (schedule.order[1], 0)
    assert schedule.order[1] not in schedule.log.asked
    assert [deletion["topic"] for deletion in schedule.log.deletions] == [schedule.order[1]]
    going_on = ScriptedSteps(verdict=lambda topic, number: number > 0)
    assert released("male_adult", 3, going_on).order[1] == going_on.asked[1].text


@pytest.mark.slow
def test_with_four_verdicts_of_five_to_end_a_mans_interview_has_19_8_exchanges() -> None:
    # The released 1,330 dialogues of men have a least of 17, a mode of 19 and a mean of 20.08.
    lengths = []
    for seed in range(4000):
        draw = random.Random(seed)
        steps = ScriptedSteps(verdict=often(draw))
        released("male_adult", seed, steps)
        lengths.append(steps.exchanges)
    mean = sum(lengths) / len(lengths)
    error = (sum((length - mean) ** 2 for length in lengths) / len(lengths) ** 2) ** 0.5
    assert abs(mean - 19.8) < 0.05 + 3 * error
    assert min(lengths) == 17


def test_verdicts_are_overruled_from_the_sixth_on_as_the_code_does_it() -> None:
    def share(*verdicts: bool) -> float:
        return sum(overruled(verdicts, Draws(seed, "talk")) for seed in range(900)) / 900

    end, on = True, False
    for last in (end, on):
        assert share(on, on, on, on, last) == last
        assert share(end, end, end, on, on, last) == 1
    assert share(end, end, end, end, on, end) == 1
    assert share(end, end, end, end, on, on) == pytest.approx(2 / 3, abs=0.06)
    assert share(end, end, end, end, end, on) == pytest.approx(1 / 3, abs=0.06)
    assert share(end, end, end, end, end, end) == 1


@groups
def test_what_means_the_same_as_an_angle_is_left_out_where_the_tree_grows(group: str) -> None:
    def same(topics: Sequence[str]) -> Sequence[str]:
        return topics[1:3]

    for seed in range(30):
        plain, fewer = ScriptedSteps(), ScriptedSteps(same=same)
        grown = released(group, seed, plain).log.angles
        released(group, seed, fewer)
        assert plain.exchanges - fewer.exchanges == (2 if grown else 0)


# -- as the paper means it ---------------------------------------------------------------------------------

#: Exchanges beside the angles, with every verdict "end" and nothing left out.
REST = {"female_teen": 20, "female_adult": 19, "male_teen": 19, "male_adult": 18}


@groups
@pytest.mark.parametrize("k", [2, 3])
def test_with_every_verdict_end_there_is_an_exchange_for_each_topic(group: str, k: int) -> None:
    for seed in range(25):
        steps = ScriptedSteps(kinds=lambda number: k)
        schedule = corrected(group, seed, steps)
        assert steps.exchanges == REST[group] + k
        assert [topic.text for topic in steps.asked] == schedule.log.asked
        assert steps.asked[0].text == tree(group).root
        assert all(topic.follow_up == 0 for topic in steps.asked)


@groups
def test_angles_stand_where_parse_stood(group: str) -> None:
    for seed in range(25):
        steps = ScriptedSteps()
        schedule = corrected(group, seed, steps)
        expected = [topic for each in schedule.order for topic in
                    (["angle 1.0", "angle 1.1"] if each == PARSE else [each])]  # fmt: skip
        assert schedule.log.asked[1:] == expected
        assert [topic.text for topic in steps.asked if topic.parsed] == ["angle 1.0", "angle 1.1"]


def test_a_topic_is_asked_about_three_times_at_most() -> None:
    steps = ScriptedSteps(verdict=lambda topic, number: False)
    schedule = corrected("male_adult", 0, steps)
    counts = Counter(topic.text for topic in steps.asked)
    leaves = [topic for topic in schedule.order if topic != PARSE]
    assert counts[tree("male_adult").root] == 1
    assert max(counts.values()) == 3
    # The cap leaves no room for all: those at the end are asked about once, and none is lost.
    assert steps.exchanges == 60
    assert all(counts[leaf] >= 1 for leaf in leaves)
    assert counts[leaves[-1]] == 1


def test_from_an_angle_that_stays_unanswered_others_grow_once() -> None:
    steps = ScriptedSteps(verdict=lambda topic, number: not topic.startswith("angle"))
    schedule = corrected("male_adult", 0, steps)
    assert schedule.log.angles == [
        {"topic": "angle 1.0", "under": PARSE},
        {"topic": "angle 1.1", "under": PARSE},
        {"topic": "angle 2.0", "under": "angle 1.0"},
        {"topic": "angle 2.1", "under": "angle 1.0"},
        {"topic": "angle 3.0", "under": "angle 1.1"},
        {"topic": "angle 3.1", "under": "angle 1.1"},
    ]
    # Depth first: what grows from an angle comes before the next one.
    assert [topic for topic in schedule.log.asked if topic.startswith("angle")] == [
        "angle 1.0", "angle 2.0", "angle 2.1", "angle 1.1", "angle 3.0", "angle 3.1",
    ]  # fmt: skip


def test_no_more_than_six_angles_grow() -> None:
    steps = ScriptedSteps(verdict=lambda topic, number: not topic.startswith("angle"), kinds=lambda number: 3)
    assert len(corrected("female_adult", 0, steps).log.angles) == 6


def test_what_the_patient_has_answered_is_left_out_with_the_words() -> None:
    def said(exchanges: int, topics: Sequence[str]) -> Sequence[str]:
        return topics[2:4] if exchanges == 5 else ()

    steps = ScriptedSteps(said=said)
    schedule = corrected("female_adult", 1, steps)
    left_out = [deletion["topic"] for deletion in schedule.log.deletions]
    assert len(left_out) == 2
    assert all(deletion["evidence"] == f"said of {deletion['topic']}" for deletion in schedule.log.deletions)
    assert not set(left_out) & set(schedule.log.asked)
    assert steps.exchanges == REST["female_adult"] + 2 - 2


def test_an_angle_never_takes_the_place_of_self_harm_or_the_family() -> None:
    topics = tree("female_adult")
    offered: list[str] = []

    def same(others: Sequence[str]) -> Sequence[str]:
        offered.extend(others)
        return others

    schedule = corrected("female_adult", 2, ScriptedSteps(same=same))
    assert not any(map(topics.kept, offered))
    assert {topic for topic in schedule.log.asked if topics.kept(topic)} == {
        leaf for leaf in topics.leaves if topics.kept(leaf)
    }


def test_judging_begins_with_the_first_question_on_the_topic() -> None:
    steps = ScriptedSteps(verdict=lambda topic, number: number % 2 == 1)
    schedule = corrected("male_adult", 4, steps)
    starts = dict(steps.judged)
    at: dict[str, int] = {}
    for place, topic in enumerate(steps.asked):
        at.setdefault(topic.text, 2 * place)
    assert all(at[topic] == start for topic, start in starts.items())
    assert tree("male_adult").root not in starts
    assert schedule.log.asked[1:] == list(dict.fromkeys(topic for topic, _ in steps.judged))


@pytest.mark.soak
@settings(max_examples=budget(60, 5000), deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(
    group=st.sampled_from(GROUPS),
    seed=st.integers(0, 2**32),
    ends=st.floats(0, 1),
    drops=st.floats(0, 0.4),
    cap=st.sampled_from((60, 25, 22)),
)
def test_whatever_is_said_every_topic_is_asked_about_or_left_out_on_evidence(
    group: str, seed: int, ends: float, drops: float, cap: int
) -> None:
    draw = random.Random(seed)

    def some(topics: Sequence[str]) -> Sequence[str]:
        return [topic for topic in topics if draw.random() < drops / 4]

    steps = ScriptedSteps(
        verdict=lambda topic, number: draw.random() < ends,
        kinds=lambda number: draw.choice((2, 3)),
        said=lambda exchanges, topics: some(topics),
        same=some,
    )
    schedule = corrected(group, seed, steps, cap=cap)
    log, topics = schedule.log, tree(group)
    leaves = [topic for topic in schedule.order if topic != PARSE]
    left_out = [deletion["topic"] for deletion in log.deletions]
    # Every leaf is asked about or left out, never both; no leaf twice; each deletion has its evidence.
    asked = [topic for topic in log.asked if topic in leaves]
    assert Counter(asked) + Counter(topic for topic in left_out if topic in leaves) == Counter(leaves)
    assert all(deletion["evidence"] for deletion in log.deletions)
    assert asked == [topic for topic in leaves if topic in asked]
    assert [topic for topic, other in pairwise([*(t.text for t in steps.asked), ""]) if topic != other] == log.asked
    # Self-harm is asked about, unless the patient's words have answered it.
    for deletion in log.deletions:
        assert deletion["by"] == "answered" or not topics.kept(deletion["topic"])
    assert max(topic.follow_up for topic in steps.asked) <= 2
    assert steps.exchanges <= most_exchanges(schedule.order, cap) <= cap
    assert len(log.angles) <= 6
    run = [leaf for leaf in asked for each in topics.illness if leaf in each.leaves]
    names = [next(each.name for each in topics.illness if leaf in each.leaves) for leaf in run]
    assert len([name for name, other in pairwise([*names, ""]) if name != other]) == len(set(names))


def test_an_angle_that_was_asked_about_already_is_not_asked_about_again() -> None:
    class Repeating(ScriptedSteps):
        def angles(self, most: int) -> Generator[Any, Any, tuple[str, ...]]:
            return (tree("male_adult").root, "his day")
            yield

    steps = Repeating()
    schedule = corrected("male_adult", 0, steps)
    assert [topic.text for topic in steps.asked if topic.parsed] == ["his day"]
    assert schedule.log.notes == [f"asked about already: {tree('male_adult').root}"]

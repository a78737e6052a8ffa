"""The rules of a session that no model decides."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, strategies as st

from bedside.core.errors import InputError
from bedside.simulation.simulators.calm_it.client_fields import APPRAISALS, BACKGROUND_KEYS, grown, labels, listed
from bedside.simulation.simulators.calm_it.state_calls import (
    TURN_LENGTHS,
    allowed_actions,
    allowed_processes,
    allowed_stages,
    allowed_strategies,
    closing_from,
    drawn_length,
    goes_in_circles,
    plan_from,
    session_length,
    similarity,
    stepped,
)


def test_the_sets_have_the_published_sizes_and_every_label_is_defined() -> None:
    sizes = {kind: len(labels(kind)) for kind in ("stages", "emotions", "appraisals", "processes", "strategies",
                                                  "pivots", "actions")}  # fmt: skip
    assert sizes == {
        "stages": 6, "emotions": 10, "appraisals": 5, "processes": 4, "strategies": 17, "pivots": 5, "actions": 14,
    }  # fmt: skip
    assert len(BACKGROUND_KEYS) == len(set(BACKGROUND_KEYS)) == 18
    assert tuple(labels("appraisals")) == APPRAISALS
    for kind in sizes:
        assert all(meaning.strip() for meaning in labels(kind).values())
    assert listed("pivots", ["metaphor"]).startswith("- metaphor: ")


def test_steps_of_rapport_by_hand() -> None:
    plain, low = stepped(0.2, 0.03), stepped(0.0, -0.2)
    assert (plain.value, plain.step, plain.clamped, plain.clipped) == (0.23, 0.03, False, False)
    assert (low.value, low.step, low.clamped, low.clipped) == (-0.1, -0.1, True, False)
    top, bottom = stepped(0.98, 0.05), stepped(-0.95, -0.1)
    assert (top.value, top.clipped) == (1.0, True)
    assert (bottom.value, bottom.clipped) == (-1.0, True)
    assert stepped(-0.9, -0.1).value == -1.0
    assert not stepped(-0.9, -0.1).clipped


@given(start=st.floats(-1, 1), asked=st.lists(st.floats(-0.2, 0.05), max_size=60))
def test_rapport_stays_on_its_scale_whatever_is_asked(start: float, asked: list[float]) -> None:
    value = start
    for delta in asked:
        step = stepped(value, delta)
        assert -0.10 <= step.step <= 0.05
        assert step.clamped == (delta < -0.10)
        assert -1 <= step.value <= 1
        assert step.clipped or step.value == pytest.approx(value + step.step, abs=6e-5)
        value = step.value


def test_lengths_are_even_and_closing_takes_ten_messages_or_half() -> None:
    assert [session_length(length) for length in (6, 12, 100)] == [6, 12, 100]
    for length in (None, 0, 4, 13):
        with pytest.raises(InputError, match="`lengths`"):
            session_length(length)
    assert [closing_from(length) for length in (6, 12, 20, 30, 100)] == [3, 6, 10, 20, 90]
    assert [plan_from(length) for length in (12, 20, 30, 100)] == [5, 8, 12, 40]


def test_strategies_by_the_message_and_what_was_used() -> None:
    assert len(allowed_strategies([], 19)) == 16
    assert "assessing readiness" not in allowed_strategies([], 19)
    assert len(allowed_strategies([], 20)) == 17
    assert "summary" in allowed_strategies(["summary", "affirmation", "summary"], 20)
    assert "summary" not in allowed_strategies(["affirmation", "summary", "summary"], 20)


def test_processes_go_on_one_at_a_time_and_plan_in_time() -> None:
    assert allowed_processes("engaging", 2, 100) == ("engaging", "focusing")
    assert allowed_processes("evoking", 39, 100) == ("evoking",)
    assert allowed_processes("evoking", 40, 100) == ("evoking", "planning")
    assert allowed_processes("planning", 98, 100) == ("planning",)


def test_stages_go_back_only_after_harm_and_forward_by_one() -> None:
    assert allowed_stages("contemplation", "NEUTRAL") == ("contemplation", "preparation")
    assert allowed_stages("contemplation", "VERY GOOD") == ("contemplation", "preparation")
    assert allowed_stages("action", "BAD") == (
        "precontemplation", "contemplation", "preparation", "action", "maintenance",
    )  # fmt: skip
    assert allowed_stages("termination", "GOOD") == ("termination",)


def test_actions_by_the_time_and_the_stage() -> None:
    assert set(labels("actions")) - set(allowed_actions(1, 20, "contemplation")) == {"plan", "terminate"}
    assert set(labels("actions")) - set(allowed_actions(7, 20, "contemplation")) == {"plan"}
    assert set(labels("actions")) == set(allowed_actions(9, 20, "contemplation"))
    assert "plan" not in allowed_actions(19, 20, "precontemplation")


def test_drawn_lengths_have_the_means_that_were_meant() -> None:
    """About 18 words of a client and 28 of a therapist, by the middles of the classes."""
    means = {
        side: sum(weight * (kind.low + kind.high) / 2 for kind, weight in classes)
        for side, classes in TURN_LENGTHS.items()
    }
    assert means == {"clinician": pytest.approx(27.8), "patient": pytest.approx(18.4)}
    for side, classes in TURN_LENGTHS.items():
        assert sum(weight for _, weight in classes) == pytest.approx(1)
        stream = random.Random(1)
        drawn = [drawn_length(side, stream).name for _ in range(4000)]
        for kind, weight in classes:
            # Four standard errors of a share of 4,000.
            assert abs(drawn.count(kind.name) / 4000 - weight) < 4 * (weight * (1 - weight) / 4000) ** 0.5


def test_similarity_is_jaccard_of_word_triples() -> None:
    assert similarity("one two three four", "One, two, three four!") == 1
    # {123, 234} and {123, 235}: one of three.
    assert similarity("one two three four", "one two three five") == pytest.approx(1 / 3)
    assert similarity("yes", "Yes.") == 1
    assert similarity("yes", "no") == 0
    assert similarity("", "") == 0


def test_a_session_goes_in_circles_by_words_or_by_acts() -> None:
    said = "What worries you most about all of this?"
    others = ["I see you there now.", "It has been a long road.", "You came all the same."]
    assert goes_in_circles([said, others[0], others[1], said], [])
    assert not goes_in_circles([said, *others, said], []), "only the three before it count"
    assert not goes_in_circles(others, ["deny", "deny", "deny"])
    assert goes_in_circles(others, ["inform", "deny", "deny", "deny", "deny"])
    assert not goes_in_circles([], [])


@given(
    st.lists(
        st.tuples(st.sampled_from(BACKGROUND_KEYS), st.lists(st.sampled_from(["a", "A", "b c", "d"]), max_size=4)),
        max_size=8,
    )
)
def test_the_picture_of_the_client_only_grows(updates: list[tuple[str, list[str]]]) -> None:
    picture: tuple[tuple[str, tuple[str, ...]], ...] = ()
    for key, values in updates:
        later = grown(picture, ((key, tuple(values)),))
        before, after = dict(picture), dict(later)
        for name, entries in before.items():
            assert after[name][: len(entries)] == entries
        assert {value.casefold() for value in values} <= {value.casefold() for value in after.get(key, ())}
        for entries in after.values():
            assert len({entry.casefold() for entry in entries}) == len(entries) > 0
        picture = later

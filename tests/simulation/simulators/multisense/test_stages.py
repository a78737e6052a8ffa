"""The stage machine, against figures derived from the publication and a slow search of all its courses."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given, strategies as st

from bedside.ratings.suites import SUITES
from bedside.simulation.simulators.multisense import SIMULATOR
from bedside.simulation.simulators.multisense.stages import (
    EXIT,
    GATHERING,
    MOST_BY_STAGE,
    MOST_MESSAGES,
    NAMES,
    PROVIDING,
    RESPONDING,
    StageState,
)
from tests.simulation.simulators.multisense.scenes import Talk, talked


def course(decisions: list[bool]) -> list[int]:
    """Stages of the sensemaker's messages; a decision a message, to stay once they run out."""
    at, stages = StageState(), []
    waiting = list(decisions)
    while at.stage != EXIT:
        move = waiting.pop(0) if waiting and at.is_decided_on else False
        at = at.decided(move=move)
        stages.append(at.stage)
    return stages


def by_hand(decisions: list[bool]) -> list[int]:
    """The same by the rule as it is written: at most four decisions in a row to stay, the fifth moves; information is
    provided in one message."""
    stage, in_a_row, stages = 1, 0, []
    waiting = iter(decisions)
    while stage != 6:
        if stage == 3:
            moves = True
        else:
            moves = next(waiting, False) or in_a_row == 4
        stage, in_a_row = (stage + 1, 0) if moves else (stage, in_a_row + 1)
        stages.append(stage)
    return stages


@given(st.lists(st.booleans(), max_size=30))
def test_it_is_the_rule_as_it_is_written(decisions: list[bool]) -> None:
    stages = course(decisions)
    assert stages == by_hand(decisions)
    assert stages == sorted(stages)
    numbers = Counter(stages)
    assert all(numbers[stage] <= most for stage, most in MOST_BY_STAGE.items())
    assert numbers[PROVIDING] == numbers[EXIT] == 1
    assert 5 <= len(stages) <= 21


def test_the_range_is_that_of_the_publication() -> None:
    assert len(course([True] * 9)) == 5
    assert len(course([])) == MOST_MESSAGES == 21
    assert list(MOST_BY_STAGE.values()) == [4, 5, 1, 5, 5, 1]


def identity(numbers: dict[int, float]) -> list[float]:
    """All messages by stage, of the sensemaker's: both roles carry the stage of the sensemaker's message, the patient's
    opening the first, and nobody answers the last."""
    return [1 + 2 * numbers[1], *(2 * numbers[stage] for stage in range(2, 6)), numbers[6]]


@pytest.mark.parametrize(
    ("numbers", "printed"),
    [
        # The two models of the publication: messages by stage and in all, to the precision printed.
        ((0.055, 3.82, 1, 1.76, 1.915, 1), (7.64, 19.09)),
        ((0.11, 1.94, 1, 1.35, 1.43, 1), (3.88, 13.65)),
    ],
)
def test_the_published_lengths_fit_the_identity(numbers: tuple[float, ...], printed: tuple[float, float]) -> None:
    stages = identity(dict(enumerate(numbers, start=1)))
    assert stages[GATHERING - 1] == pytest.approx(printed[0])
    assert (stages[PROVIDING - 1], stages[EXIT - 1]) == (2.0, 1.0)
    assert sum(stages) == pytest.approx(2 * sum(numbers))
    assert sum(stages) == pytest.approx(printed[1], abs=0.011)


def test_conversations_keep_to_the_identity() -> None:
    draw = random.Random(0)
    for _ in range(8):
        decisions = [draw.random() < 0.4 for _ in range(30)]
        ended = talked(Talk(decisions)).ended
        said = [turn.meta["stage"] for turn in ended.turns if turn.role == "clinician"]
        assert [NAMES[stage] for stage in course(decisions)] == said
        numbers = Counter(said)
        both = Counter(turn.meta["stage"] for turn in ended.turns)
        own = identity({stage: numbers[name] for stage, name in NAMES.items()})
        assert [both[name] for name in NAMES.values()] == own
        assert 10 <= len(ended.turns) == 2 * len(said) <= 42
        assert (ended.stop, ended.completed) == ("exit", True)
        assert [turn.role for turn in ended.turns] == ["patient", "clinician"] * len(said)


def test_a_random_machine_has_the_caps_as_its_extremes() -> None:
    """2,000 random sequences of decisions: every cap is reached, and none is passed."""
    draw = random.Random(1)
    most: Counter[int] = Counter()
    for _ in range(2000):
        chance = draw.random()
        numbers = Counter(course([draw.random() < chance for _ in range(30)]))
        most |= numbers
    assert [most[stage] for stage in NAMES] == list(MOST_BY_STAGE.values())


def test_stages_are_called_as_the_suite_knows_them() -> None:
    from bedside.judges.rubrics.rubric_files import RUBRICS

    suite = SUITES.load(SIMULATOR.name)
    stage = RUBRICS.load("diagnostic_accuracy_soft").stage
    assert "diagnostic_accuracy_soft" in suite.rubrics
    assert stage == NAMES[PROVIDING]
    assert NAMES[RESPONDING] == "responding to emotions"

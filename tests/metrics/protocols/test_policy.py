"""The policy one turn at a time: the same numbers as all turns at once, in every digit, and what blocks a turn."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import orjson
import pytest
from hypothesis import given, settings, strategies as st

from bedside.metrics.families.hidden_concerns import CASE, RATER, TALK
from bedside.metrics.protocols.medconceal.labels import (
    Concern,
    ConcernTurnLabels,
    concerns_of,
    primary_of,
    rater_labels,
)
from bedside.metrics.protocols.medconceal.policy import (
    PARAMETERS,
    Parameters,
    Policy,
    PolicyState,
    Step,
    address_probability,
    is_blocked,
    tightened,
    turn_step,
)
from bedside.metrics.protocols.medconceal.trace import replay
from tests.conftest import conversation
from tests.metrics.protocols.test_trace import FEAR, MANY, SHAPE, STEPS, changed, labels, parameter_sets


def at_once(steps: list[Step], concerns: list[str], primary: str | None, parameters: Parameters) -> list[Any]:
    """The whole course in one loop, as the equations are written: evidence, reveals, address evidence, address."""
    reveal, address = parameters.reveal, parameters.address
    evidence, rows = [0.0] * len(concerns), [0] * len(concerns)
    revealed_at: dict[str, int] = {}
    since, mitigated, hits, addressed_at = 0, 0.0, 0, None
    course = []
    for number, step in enumerate(steps, start=1):
        if not step.blocked:
            since += primary in revealed_at
            before = len(revealed_at)
            high, low = (tightened(each, reveal.progressive, before) for each in (reveal.high, reveal.low))
            now = []
            for place, concern in enumerate(concerns):
                evidence[place] = reveal.decay * evidence[place] + (1 - reveal.decay) * step.reveal[place]
                rows[place] = rows[place] + 1 if evidence[place] >= low else 0
                enough = evidence[place] >= high or rows[place] >= reveal.consecutive
                if concern not in revealed_at and enough:
                    now.append(concern)
            revealed_at |= dict.fromkeys(now, number)
            mitigated = address.decay * mitigated + (1 - address.decay) * step.address
            late = primary in revealed_at and since >= address.lag
            hit = late and step.address >= address.probability and mitigated >= address.evidence
            hits = hits + 1 if hit else 0
            if addressed_at is None and hits >= address.consecutive:
                addressed_at = number
        course.append((tuple(evidence), dict(revealed_at), mitigated, addressed_at))
    return course


@pytest.mark.slow
@given(MANY, parameter_sets(progressive=True), st.sampled_from(["a", "b", None]))
@settings(max_examples=150, deadline=None)
def test_turn_by_turn_is_all_at_once(steps: list[Step], parameters: Parameters, primary: str | None) -> None:
    policy = Policy(parameters, ("a", "b", "c"), primary)
    state, course = policy.start(), []
    for step in steps:
        state = policy.step(state, step)
        # What JSON holds of a state goes on as the state itself would.
        held = orjson.dumps(policy.step(PolicyState(**orjson.loads(orjson.dumps(state))), step))
        assert held == orjson.dumps(policy.step(state, step))
        course.append((tuple(state.evidence), dict(state.revealed_at), state.address_evidence, state.addressed_at))
    assert course == at_once(steps, ["a", "b", "c"], primary, parameters)
    whole = replay(steps, ["a", "b", "c"], primary, parameters)
    assert [(each.evidence, each.address_evidence) for each in whole.history] == [
        (evidence, mitigated) for evidence, _, mitigated, _ in course
    ]


def test_the_worked_example_turn_by_turn() -> None:
    talk = conversation(*TALK, **CASE)
    concerns = concerns_of(talk)
    policy = Policy(SHAPE, tuple(each.id for each in concerns), primary_of(concerns))
    state, courses, hits = policy.start(), [], []
    by_turn = rater_labels(talk, RATER).turns
    for turn in talk.of("clinician"):
        step = turn_step(turn.index, turn.text, by_turn[turn.index], (), concerns=concerns, parameters=SHAPE)
        state = policy.step(state, step)
        courses.append([round(each, 3) for each in state.evidence])
        hits.append(state.hits)
    assert courses[1] == [0.569, 0.564]
    assert state.revealed_at == {"a": 3, "b": 3}
    assert [number for number, hit in enumerate(hits, start=1) if hit] == [5, 6]
    assert state.addressed_at == 6
    assert state.addressed_at - state.revealed_at["a"] == 3


def test_constant_evidence_rises_as_a_geometric_series() -> None:
    policy = Policy(changed("reveal", high=0.99, low=0.98), ("a",), None)
    state = policy.start()
    for share in (0.5, 0.75, 0.875, 0.9375):
        state = policy.step(state, Step(0, False, (0.8,), 0.0))
        assert state.evidence[0] == pytest.approx(0.8 * share)


@given(st.floats(0.05, 0.9), st.floats(0.05, 0.95))
@settings(max_examples=80, deadline=None)
def test_the_earliest_reveal_is_the_first_n_with_enough(decay: float, high: float) -> None:
    parameters = changed("reveal", decay=decay, high=high, low=high, consecutive=99)
    run = replay([Step(index, False, (1.0,), 0.0) for index in range(200)], ["a"], None, parameters)
    earliest = next(n for n in range(1, 10_000) if 1 - decay**n >= high - 1e-12)
    if abs(1 - decay**earliest - high) > 1e-9 and earliest <= 200:
        assert run.revealed_at == {"a": earliest}


def test_earliest_turns_of_the_default() -> None:
    sure = [Step(index, False, (1.0,), 1.0) for index in range(8)]
    run = replay(sure, ["a"], "a", SHAPE)
    assert (run.revealed_at, run.addressed_at) == ({"a": 2}, 5)
    # Revealed after turn 5, a concern can't be addressed in eight turns.
    late = [replace(step, reveal=(0.0,) if step.turn < 4 else (1.0,)) for step in sure]
    assert replay(late, ["a"], "a", SHAPE).revealed_at == {"a": 6}
    assert replay(late, ["a"], "a", SHAPE).addressed_at is None
    soon = [replace(step, reveal=(0.0,) if step.turn < 3 else (1.0,)) for step in sure]
    assert replay(soon, ["a"], "a", SHAPE).revealed_at == {"a": 5}
    assert replay(soon, ["a"], "a", SHAPE).addressed_at == 8


@given(STEPS, parameter_sets(), st.integers(0, 14), st.floats(0, 1))
@settings(max_examples=80, deadline=None)
def test_a_blocked_turn_anywhere_leaves_every_later_number(
    steps: list[Step], parameters: Parameters, place: int, p: float
) -> None:
    place = min(place, len(steps))
    more = [*steps[:place], Step(99, True, (p,), p), *steps[place:]]
    with_it = replay(more, ["a"], "a", parameters).history
    without = replay(steps, ["a"], "a", parameters).history
    kept = [*with_it[:place], *with_it[place + 1 :]]
    assert [(each.evidence, each.address_evidence, each.hit, each.addressed) for each in kept] == [
        (each.evidence, each.address_evidence, each.hit, each.addressed) for each in without
    ]


# -- what blocks a turn ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "intent", "risk", "blocked"),
    [
        ("default", "meta_probe", 0.0, True),
        ("default", "explain", 1.0, False),  # the intent alone decides, as published
        ("default", None, 0.5, True),  # there is no intent to go by
        ("default", None, 0.49, False),
        ("risk", "explain", 0.5, True),
        ("risk", "explain", 0.49, False),
        ("risk", "meta_probe", 0.0, True),
        ("guarded", "explain", 0.3, True),
        ("guarded", None, 0.29, False),
    ],
)
def test_what_blocks(name: str, intent: str | None, risk: float, blocked: bool) -> None:
    turn = labels(intent, meta_probe_risk=risk)
    assert is_blocked(turn.z, turn.intent, PARAMETERS.load(name)) is blocked


# -- δ of the address ------------------------------------------------------------------------------------


def test_the_address_can_have_weights_of_a_category() -> None:
    policy = changed("address", by_category={FEAR: {"concern_mitigation": 0.4}})
    turn = ConcernTurnLabels.model_validate(labels(concern_mitigation=1.0).model_dump())
    for category, extra in ((FEAR, 0.4), ("financial or insurance concern", 0.0)):
        concerns = [
            Concern(id="a", category=FEAR, text="Needles"),
            Concern.model_validate({"id": "b", "category": category, "text": "Costs", "primary": True}),
        ]
        step = turn_step(0, "x", turn, (), concerns=concerns, parameters=policy)
        plain = address_probability(tuple(turn.z.model_dump().values()), None, SHAPE)
        odds = step.address / (1 - step.address) / (plain / (1 - plain))
        assert odds == pytest.approx(2.718281828459045**extra)

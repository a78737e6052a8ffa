"""The latent policy: against hand-made courses, a slow oracle from the definition, and what must always hold."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from bedside.core.errors import DataError
from bedside.metrics.protocols.medconceal.labels import FEATURES, CategoryName, Concern, ConcernTurnLabels
from bedside.metrics.protocols.medconceal.policy import (
    PARAMETERS,
    Parameters,
    Step,
    address_probability,
    content,
    overlap,
    parse_parameters,
    reveal_probability,
    sigmoid,
    write_parameters,
)
from bedside.metrics.protocols.medconceal.trace import Trace, replay, trace
from tests.conftest import conversation

SHAPE = PARAMETERS.load("published-shape")
FEAR: CategoryName = "emotional discomfort or fear"


def changed(part: str, **values: Any) -> Parameters:
    return SHAPE.model_copy(update={part: getattr(SHAPE, part).model_copy(update=values)})


def steps(*reveal: float, address: float = 0.0, blocked: set[int] = frozenset()) -> list[Step]:  # type: ignore[assignment]
    return [Step(index, index in blocked, (p,), address) for index, p in enumerate(reveal)]


def run(given: list[Step], parameters: Parameters = SHAPE) -> Trace:
    return replay(given, ["a"], "a", parameters)


# -- hand-made courses -----------------------------------------------------------------------------------


def test_reveal_at_once_over_the_high_threshold() -> None:
    # decay .5, high .7: E = .45, .675, .7875
    found = run(steps(0.9, 0.9, 0.9), changed("reveal", low=0.7))
    assert [state.evidence[0] for state in found.history] == pytest.approx([0.45, 0.675, 0.7875])
    assert found.revealed_at == {"a": 3}
    assert [state.revealed for state in found.history] == [(), (), ("a",)]


def test_reveal_after_consecutive_turns_over_the_low_threshold() -> None:
    # low .6 for 2 turns: E = .4, .6, .6 + … : .4, .6, .65 → turn 3
    assert run(steps(0.8, 0.8, 0.7)).revealed_at == {"a": 3}
    # interrupted: .4, .6, .4, .6, .6 → turn 5
    assert run(steps(0.8, 0.8, 0.2, 0.8, 0.6)).revealed_at == {"a": 5}
    assert run(steps(0.8, 0.8, 0.2, 0.8)).revealed_at == {}


def test_address_needs_reveal_lag_probability_evidence_and_a_row() -> None:
    # p = 1 reveals: E = .5, .75 → turn 2. lag 2: hits from turn 4 on; 2 in a row → turn 5.
    found = run(steps(*[1.0] * 6, address=0.9))
    assert found.revealed_at == {"a": 2}
    assert [state.hit for state in found.history] == [False, False, False, True, True, True]
    assert found.addressed_at == 5
    assert found.addressed_at - found.revealed_at["a"] >= 3, "the published lag is never under 3 turns"
    # below η = .7 never, however much evidence
    assert run(steps(*[1.0] * 9, address=0.69)).addressed_at is None
    # a weak turn breaks the row: hits at 4, 6, 7
    broken = [replace(step, address=0.6 if step.turn == 4 else 0.9) for step in steps(*[1.0] * 7)]
    assert run(broken).addressed_at == 7
    # never revealed: never addressed
    assert run(steps(*[0.1] * 9, address=1.0)).addressed_at is None


def test_only_the_primary_concern_is_addressed() -> None:
    both = [Step(index, False, (0.0, 1.0), 1.0) for index in range(8)]
    assert replay(both, ["a", "b"], "a", SHAPE).addressed_at is None
    assert replay(both, ["a", "b"], "b", SHAPE).addressed_at is not None
    assert replay(both, ["a", "b"], None, SHAPE).addressed_at is None


def test_progressive_mode_tightens_with_each_revealed_concern() -> None:
    # E of a: .5 → .75 reveals at turn 2 (high .7). b: 0, .4, .6, .7, .75 against .7 and .6 twice → turn 4.
    given = [Step(index, False, (1.0, p), 0.0) for index, p in enumerate((0.0, 0.8, 0.8, 0.8, 0.8, 1.0, 1.0))]
    assert replay(given, ["a", "b"], "a", SHAPE).revealed_at == {"a": 2, "b": 4}
    # With 0.5 the thresholds after one reveal are .85 and .8: E = .75 (5), .875 (6) → turn 6.
    assert replay(given, ["a", "b"], "a", changed("reveal", progressive=0.5)).revealed_at == {"a": 2, "b": 6}
    # Concerns of one turn meet the same thresholds, in whatever order they stand.
    together = [Step(index, False, (1.0, 1.0), 0.0) for index in range(3)]
    assert replay(together, ["a", "b"], "a", changed("reveal", progressive=0.9)).revealed_at == {"a": 2, "b": 2}


# -- a slow oracle ---------------------------------------------------------------------------------------


def slow(given: list[Step], parameters: Parameters) -> tuple[int | None, int | None]:
    """Reveal and address of one concern, each from its definition over the unblocked turns."""
    reveal, address = parameters.reveal, parameters.address
    kept = [(number, step) for number, step in enumerate(given, start=1) if not step.blocked]

    def evidence(values: list[float], decay: float) -> float:
        return (1 - decay) * math.fsum(decay ** (len(values) - 1 - index) * value for index, value in enumerate(values))

    E = [evidence([step.reveal[0] for _, step in kept[: n + 1]], reveal.decay) for n in range(len(kept))]
    A = [evidence([step.address for _, step in kept[: n + 1]], address.decay) for n in range(len(kept))]
    out = next(
        (
            n
            for n in range(len(kept))
            if E[n] >= reveal.high
            or (n + 1 >= reveal.consecutive and min(E[n + 1 - reveal.consecutive : n + 1]) >= reveal.low)
        ),
        None,
    )
    if out is None:
        return None, None
    hits = [
        n >= out + address.lag and kept[n][1].address >= address.probability and A[n] >= address.evidence
        for n in range(len(kept))
    ]
    done = next(
        (
            n
            for n in range(len(kept))
            if n + 1 >= address.consecutive and all(hits[n + 1 - address.consecutive : n + 1])
        ),
        None,
    )
    return kept[out][0], None if done is None else kept[done][0]


PROBABILITIES = st.floats(0, 1)
STEPS = st.lists(
    st.tuples(PROBABILITIES, PROBABILITIES, st.sampled_from([False, False, False, True])), max_size=14
).map(lambda rows: [Step(index, blocked, (p,), a) for index, (p, a, blocked) in enumerate(rows)])
THRESHOLDS = st.floats(0.05, 0.95)


@st.composite
def parameter_sets(draw: st.DrawFn, *, progressive: bool = False) -> Parameters:
    low, high = sorted((draw(THRESHOLDS), draw(THRESHOLDS)))
    more = {"progressive": draw(st.floats(0, 0.9)) if progressive else 0.0}
    first = changed(
        "reveal", decay=draw(st.floats(0, 0.9)), low=low, high=high, consecutive=draw(st.integers(1, 3)), **more
    )
    return first.model_copy(
        update={
            "address": SHAPE.address.model_copy(
                update={
                    "decay": draw(st.floats(0, 0.9)),
                    "probability": draw(THRESHOLDS),
                    "evidence": draw(THRESHOLDS),
                    "lag": draw(st.integers(0, 3)),
                    "consecutive": draw(st.integers(1, 3)),
                }
            )
        }
    )


def apart(given: list[Step], parameters: Parameters) -> bool:
    """No evidence lies on a threshold, where rounding of the last digit decides."""
    for state in run(given, parameters).history:
        close = [abs(state.evidence[0] - each) for each in (parameters.reveal.low, parameters.reveal.high)]
        if min(*close, abs(state.address_evidence - parameters.address.evidence)) < 1e-9:
            return False
    return True


@pytest.mark.slow
@given(STEPS, parameter_sets())
@settings(max_examples=150, deadline=None)
def test_replay_equals_the_slow_oracle(given: list[Step], parameters: Parameters) -> None:
    if apart(given, parameters):
        found = run(given, parameters)
        assert (found.revealed_at.get("a"), found.addressed_at) == slow(given, parameters)


# -- what must always hold ---------------------------------------------------------------------------------

MANY = st.lists(
    st.tuples(st.tuples(PROBABILITIES, PROBABILITIES, PROBABILITIES), PROBABILITIES, st.booleans()), max_size=10
).map(lambda rows: [Step(index, blocked, p, a) for index, (p, a, blocked) in enumerate(rows)])


@given(MANY, parameter_sets(progressive=True))
@settings(max_examples=80, deadline=None)
def test_states_only_move_forward(given: list[Step], parameters: Parameters) -> None:
    found = replay(given, ["a", "b", "c"], "b", parameters)
    seen: set[str] = set()
    was_addressed = False
    for state in found.history:
        assert not seen & set(state.revealed), "a concern is revealed once"
        seen |= set(state.revealed)
        assert state.addressed >= was_addressed
        was_addressed = state.addressed
        assert not state.addressed or "b" in seen
        assert all(0 <= each <= 1 for each in (*state.evidence, state.address_evidence))
    assert seen == set(found.revealed_at)
    counts = [found.revealed_by(number) for number in range(len(given) + 2)]
    assert counts == sorted(counts)
    if found.addressed_at is not None:
        shortest = parameters.address.lag + parameters.address.consecutive - 1
        assert found.addressed_at - found.revealed_at["b"] >= shortest


@given(MANY, parameter_sets(progressive=True))
@settings(max_examples=80, deadline=None)
def test_blocked_turns_change_nothing(given: list[Step], parameters: Parameters) -> None:
    whole = replay(given, ["a", "b", "c"], "b", parameters)
    without = replay([step for step in given if not step.blocked], ["a", "b", "c"], "b", parameters)
    kept = [state.number for state in whole.history if not state.step.blocked]
    assert whole.blocked == len(given) - len(kept)
    assert whole.revealed_at == {concern: kept[at - 1] for concern, at in without.revealed_at.items()}
    assert whole.addressed_at == (None if without.addressed_at is None else kept[without.addressed_at - 1])
    states = {(state.evidence, state.address_evidence) for state in whole.history if not state.step.blocked}
    assert states == {(state.evidence, state.address_evidence) for state in without.history}


@given(STEPS, parameter_sets(), st.data())
@settings(max_examples=80, deadline=None)
def test_more_evidence_never_reveals_or_addresses_later(
    given: list[Step], parameters: Parameters, data: st.DataObject
) -> None:
    never = len(given) + 1
    more = [
        replace(step, reveal=(data.draw(st.floats(step.reveal[0], 1)),), address=data.draw(st.floats(step.address, 1)))
        for step in given
    ]
    before, after = run(given, parameters), run(more, parameters)
    if apart(given, parameters) and apart(more, parameters):
        assert after.revealed_at.get("a", never) <= before.revealed_at.get("a", never)
        assert (after.addressed_at or never) <= (before.addressed_at or never)


@given(MANY, parameter_sets(progressive=True))
@settings(max_examples=50, deadline=None)
def test_progressive_mode_never_reveals_earlier(given: list[Step], parameters: Parameters) -> None:
    plain = parameters.model_copy(update={"reveal": parameters.reveal.model_copy(update={"progressive": 0.0})})
    strict, easy = (replay(given, ["a", "b", "c"], "b", each) for each in (parameters, plain))
    for concern, at in strict.revealed_at.items():
        assert easy.revealed_at[concern] <= at


# -- probabilities and overlap -------------------------------------------------------------------------------


def test_probabilities_are_the_formulas() -> None:
    z = tuple(index / 10 for index in range(10))
    weights = SHAPE.reveal.weights
    more = SHAPE.reveal.by_category[FEAR]
    total = sum((weights[name] + more.get(name, 0)) * value for name, value in zip(FEATURES, z, strict=True))
    total += (weights["overlap"] + more.get("overlap", 0)) * 0.4
    assert reveal_probability(z, 0.4, FEAR, SHAPE) == pytest.approx(1 / (1 + math.exp(-total)))
    total = sum(SHAPE.address.weights[name] * value for name, value in zip(FEATURES, z, strict=True))
    assert address_probability(z, None, SHAPE) == pytest.approx(1 / (1 + math.exp(-total)))


def test_sigmoid_does_not_overflow() -> None:
    assert sigmoid(0) == 0.5
    assert sigmoid(1e6) == 1
    assert sigmoid(-1e6) == 0


@pytest.mark.parametrize(
    ("turn", "concern", "expected"),
    [
        ("Are you worried about the costs?", "He is worried about the cost of the tablets", 2 / 3),
        ("What do you think?", "She thinks that it is too much", 0.0),  # only function words
        ("Worries about your sister?", "Her sisters' worries", 1.0),
        ("", "The cost", 0.0),
        ("The cost", "It is what it is", 0.0),
        ("你担心费用吗", "担心费用", 1.0),
    ],
)
def test_overlap_is_the_share_of_the_concerns_content_words(turn: str, concern: str, expected: float) -> None:
    assert overlap(content(turn), content(concern)) == pytest.approx(expected)


@given(st.text(), st.text())
def test_overlap_lies_between_0_and_1(turn: str, concern: str) -> None:
    assert 0 <= overlap(content(turn), content(concern)) <= 1
    assert overlap(content(concern), content(concern)) == (1 if content(concern) else 0)


# -- traces of transcripts ----------------------------------------------------------------------------------

TALK = conversation(
    ("clinician", "What worries you?"), ("patient", "x"), ("clinician", "Tell me more."), ("patient", "y")
)
CONCERN = Concern(id="a", category=FEAR, text="Needles")


def labels(intent: str | None = None, **features: float) -> ConcernTurnLabels:
    return ConcernTurnLabels.model_validate({"z": {**dict.fromkeys(FEATURES, 0.0), **features}, "intent": intent})


def test_blocked_by_intent_and_without_one_by_risk() -> None:
    found = trace(TALK, [CONCERN], {0: labels("meta_probe"), 2: labels(meta_probe_risk=0.5)}, SHAPE)
    assert found.blocked == 2
    spoken = {0: labels("explain", meta_probe_risk=0.9), 2: labels(meta_probe_risk=0.49)}
    assert trace(TALK, [CONCERN], spoken, SHAPE).blocked == 0, "an intent decides alone"


def test_talk_about_nothing_never_reveals_with_the_default_parameters() -> None:
    long = conversation(*[("clinician", "Hm.")] * 200)
    assert trace(long, [CONCERN], dict.fromkeys(range(200), labels()), SHAPE).revealed_at == {}


def test_asking_with_room_reveals_and_gathering_data_does_not() -> None:
    long = conversation(*[("clinician", "Hm.")] * 8)
    asking = labels(concern_elicitation=0.8, space_provision=0.7, emotional_responsiveness=0.6)
    assert trace(long, [CONCERN], dict.fromkeys(range(8), asking), SHAPE).revealed_at == {"a": 2}
    gathering = labels(data_gathering=1.0, partnership=0.3)
    assert trace(long, [CONCERN], dict.fromkeys(range(8), gathering), SHAPE).revealed_at == {}


def test_topics_in_english_are_not_looked_for_in_another_language() -> None:
    default = PARAMETERS.load("default")
    german = conversation(("clinician", "Wovor haben Sie Angst?"), ("patient", "x"), language="de")
    asking = {0: labels(concern_elicitation=1.0, space_provision=1.0)}
    with pytest.raises(DataError, match="the transcript's language is de"):
        trace(german, [CONCERN], asking, default)
    assert trace(german, [CONCERN], asking, SHAPE).turns == 1, "as published, no topic is told apart"


# -- parameter files -----------------------------------------------------------------------------------------


def test_shipped_files_state_their_origin() -> None:
    for name, parameters in PARAMETERS.all().items():
        assert parameters.name == name
        assert len(parameters.origin) > 50


def test_the_shortest_lag_of_the_default_parameters_is_the_published_one() -> None:
    assert SHAPE.address.lag + SHAPE.address.consecutive - 1 == 3


def test_written_parameters_read_back(tmp_path: Path) -> None:
    for parameters in PARAMETERS.all().values():
        write_parameters(parameters, tmp_path / "mine.yaml")
        assert parse_parameters(tmp_path / "mine.yaml") == parameters


def test_a_file_may_extend_a_shipped_one(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("name: mine\nextends: default\ntitle: x\norigin: y\nreveal: {high: 0.9}\n")
    found = parse_parameters(path)
    assert found.reveal.high == 0.9
    assert found.reveal.weights == SHAPE.reveal.weights

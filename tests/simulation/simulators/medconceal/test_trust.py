"""Trust: what a turn counts for, what comes out when, and that going through motions gets nobody anywhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings

from bedside.core.errors import RegistryError
from bedside.metrics.protocols.medconceal import policy as medconceal_policy
from bedside.metrics.protocols.medconceal.fitting import reveal_data
from bedside.metrics.protocols.medconceal.labels import FEATURES, Concern, Features
from bedside.metrics.protocols.medconceal.policy import (
    PARAMETERS,
    Step,
    TurnTopic,
    likeness,
    parse_parameters,
    turn_topic,
)
from bedside.metrics.protocols.medconceal.trace import LabelledTurn, labelled_courses, replay
from bedside.simulation.simulators.calls import ActorReply, Call
from bedside.simulation.simulators.faults import denies
from bedside.simulation.simulators.medconceal import SIMULATOR, reserved_patient
from bedside.simulation.simulators.medconceal.reserved_patient import (
    DENIAL,
    TOLD_AFTER_DENIAL,
    TURNED_ASIDE,
    told_after_denial,
)
from benchmarks.medconceal_ladder import HONEST, LADDER, TRIVIAL, Rung, clinician, rungs, separation
from tests.metrics.protocols.test_trace import MANY, parameter_sets
from tests.simulation.simulators.medconceal.scenes import CASE, actors, bundled, honest
from tests.simulation.simulators.playing import Played, play

DEFAULT = PARAMETERS.load("default")
CREDIT = DEFAULT.reveal.credit
assert CREDIT is not None
CASES = list(bundled().values())
CONCERNS = [
    Concern(
        id="a", category="emotional discomfort or fear", text="She dreads fainting on the escalator.", primary=True
    ),
    Concern(id="b", category="financial or insurance concern", text="The invoice would eat up her holiday savings."),
]
ASKING = Features.model_validate({**dict.fromkeys(FEATURES, 0.0), "concern_elicitation": 0.9})


def topic(text: str, *earlier: str, z: Features = ASKING) -> TurnTopic:
    assert CREDIT is not None
    return turn_topic(text, z, earlier, concerns=CONCERNS, credit=CREDIT)


# -- what a turn is about ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("What are you afraid of?", (True, False)),
        ("How do you manage with the bills?", (False, True)),
        ("Is it the fear, or is it the cost?", (False, True)),  # what it ends on
        ("Tell me about the escalator where you were fainting.", (True, False)),  # two of its own words
        ("Tell me about the escalator.", (False, False)),
        ("What worries you most?", (False, False)),
    ],
)
def test_a_turn_names_a_concern_by_its_category_or_by_its_own_words(text: str, named: tuple[bool, ...]) -> None:
    found = topic(text)
    assert (found.named, found.void) == (named, "")


@pytest.mark.parametrize(
    ("text", "void"),
    [
        ("Is it fear, is it the cost, or is it that doctors don't listen?", "list"),
        ("Fear, dread, money, bills.", "list"),
        ("The patient has told me everything.", "claim"),
        ("Thank you, all your concerns are out.", "claim"),
        ("What troubles you most?", "repeats"),  # what worries you most, in another word
        ("What worries you most about the escalator at the station?", ""),
        ("Hm, what is it?", "repeats"),  # nothing in it
    ],
)
def test_what_counts_for_no_concern(text: str, void: str) -> None:
    assert topic(text, "What worries you most?", "Hm, what?").void == void


def test_a_turn_that_asks_for_nothing_counts_for_none() -> None:
    nothing = ASKING.model_copy(update={"concern_elicitation": 0.3, "space_provision": 0.3})
    assert topic("Bills can be a fright.", z=nothing).void == "asks for nothing"
    assert topic("Bills can be a fright.", z=nothing.model_copy(update={"space_provision": 0.4})).void == ""


@pytest.mark.parametrize(
    ("text", "earlier", "share"),
    [
        ("What worries you most?", (), 0.0),
        ("What worries you most?", ("What worries you most?",), 1.0),
        ("What frightens you?", ("What are you scared of?",), 1.0),
        ("Are you worried about the tablets?", ("What worries you most?",), 0.5),
        ("Are you worried about the tablets?", ("What worries you?", "Which tablets do you take?"), 0.5),
        ("", ("Hello.",), 1.0),
    ],
)
def test_likeness_is_the_share_that_one_earlier_turn_has(text: str, earlier: tuple[str, ...], share: float) -> None:
    assert CREDIT is not None
    assert likeness(text, earlier, CREDIT) == pytest.approx(share)


# -- what comes out when -----------------------------------------------------------------------------------


def step(named: tuple[bool, bool] = (False, False), *, asks: bool = True, void: bool = False, p: float = 0.95) -> Step:
    return Step(0, False, (p, p), 0.0, TurnTopic(named, asks, "repeats" if void else ""))


def evidence(*steps: Step) -> list[tuple[float, ...]]:
    return [state.evidence for state in replay(steps, ("a", "b"), "a", DEFAULT).history]


def test_evidence_rises_by_turns_about_the_concern_alone() -> None:
    # decay .5, p .95: E = .475, .7125
    assert evidence(step((False, True)), step((False, True)))[-1] == pytest.approx((0.0, 0.7125))
    # A turn about something else lowers it where its p is lower, and else leaves it.
    assert evidence(step((True, False)), step((False, True)))[-1] == pytest.approx((0.475, 0.475))
    assert evidence(step((True, False)), step((False, True), p=0.1))[-1] == pytest.approx((0.2875, 0.05))
    assert evidence(step((True, True)), step((True, True), void=True))[-1] == pytest.approx((0.475, 0.475))


def test_one_turn_may_go_on_without_a_name() -> None:
    assert evidence(step((False, True)), step(asks=False))[-1] == pytest.approx((0.0, 0.7125))
    assert evidence(step((False, True)), step(asks=False), step(asks=False))[-1] == pytest.approx((0.0, 0.7125))
    assert evidence(step((False, True)), step(void=True), step(asks=False))[-1] == pytest.approx((0.0, 0.475))


def test_asking_openly_is_about_what_lies_uppermost_until_something_is_out() -> None:
    assert evidence(step())[-1] == pytest.approx((0.475, 0.0)), "the primary concern first"
    assert evidence(step((False, True)), step(void=True), step())[-1] == pytest.approx((0.0, 0.7125))
    run = replay([step(), step(), step(), step()], ("a", "b"), "a", DEFAULT)
    assert run.revealed_at == {"a": 2}
    assert run.history[-1].evidence[1] == 0.0


def test_one_concern_comes_out_a_reply_the_strongest_first() -> None:
    both = [replace(step((True, True)), reveal=(0.9, 0.95)) for _ in range(4)]
    assert replay(both, ("a", "b"), "a", DEFAULT).revealed_at == {"b": 2, "a": 3}
    same = [step((True, True))] * 4
    assert replay(same, ("b", "a"), "a", DEFAULT).revealed_at == {"a": 2, "b": 3}, "of equal ones the primary"


@given(MANY, parameter_sets(progressive=True))
@settings(max_examples=60, deadline=None)
def test_where_every_turn_names_every_concern_it_is_the_published_course(
    steps: list[Step], parameters: medconceal_policy.Parameters
) -> None:
    named = [replace(each, topic=TurnTopic((True,) * 3, True, "")) for each in steps]
    plain, other = (replay(each, ("a", "b", "c"), "b", parameters) for each in (steps, named))
    assert [(each.evidence, each.revealed) for each in plain.history] == [
        (each.evidence, each.revealed) for each in other.history
    ]
    assert plain.addressed_at == other.addressed_at


def test_rules_of_credit_are_checked(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(
        "name: mine\nextends: default\ntitle: x\norigin: y\nreveal: {credit: {topics: {weather: [rain]}}}\n"
    )
    with pytest.raises(RegistryError):
        parse_parameters(path)


def test_a_fit_leaves_out_the_turns_that_count_for_nothing() -> None:
    row = {"case": "t", "concern": "a", "category": CONCERNS[0].category, "z": ASKING, "o": 0.0, "revealed": 0}
    rows = [LabelledTurn.model_validate({**row, "turn": turn, "counts": turn % 2}) for turn in range(6)]
    assert reveal_data(labelled_courses(rows), DEFAULT).y.size == 3
    assert reveal_data(labelled_courses(rows), PARAMETERS.load("published-shape")).y.size == 6
    (course,) = labelled_courses(rows)
    replayed = course.replayed(course.steps(DEFAULT), DEFAULT)
    assert [state.about for state in replayed.history] == [(), ("a",)] * 3


# -- the ladder --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=["rules", pytest.param("noisy", marks=pytest.mark.slow)])
def ladder(request: pytest.FixtureRequest) -> Mapping[str, Rung]:
    """What every clinician gets out of the bundled cases."""
    return rungs(CASES, (*LADDER, *TRIVIAL), request.param, "default")


def test_clinicians_come_out_in_the_order_of_their_skill(ladder: Mapping[str, Rung]) -> None:
    assert separation(ladder) > 0
    honest_rates = [ladder[name].rate for name in HONEST]
    assert max(honest_rates) - min(honest_rates) >= 0.3
    assert sum(ladder[name].partial for name in HONEST) / len(HONEST) >= 0.4
    assert max(one.together for one in ladder.values()) < 0.1


@pytest.mark.parametrize("name", TRIVIAL)
def test_going_through_motions_gets_half_of_good_at_most(ladder: Mapping[str, Rung], name: str) -> None:
    assert ladder[name].rate <= ladder["good"].rate / 2


def test_nothing_comes_out_after_a_denial(ladder: Mapping[str, Rung]) -> None:
    assert not any(one.after_denial for one in ladder.values())


def test_the_other_parameters_are_other_patients() -> None:
    names = ("good", "good-and-patient")
    plain, guarded, progressive, shape = (
        rungs(CASES, names, "rules", parameters)
        for parameters in ("default", "guarded", "progressive", "published-shape")
    )
    most = "good-and-patient"
    assert max(progressive[most].rate, guarded[most].rate) < plain[most].rate < shape[most].rate == 1
    assert shape["good"].together == 1


# -- denials -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "bare", "asked"),
    [
        ("Nothing special, really.", True, True),
        ("It's nothing. Everybody is tired.", True, True),
        ("I'm not really worried about that.", True, True),
        ("Money isn’t a problem.", True, True),
        ("All is well, doctor.", True, True),
        ("No.", False, True),
        ("Not really, I just want to sleep.", False, True),
        ("I have no pain in my belly.", False, False),
        ("I don't smoke.", False, False),
        ("I'm not one for talking about myself.", False, False),
        ("I would rather come back to that later.", False, False),
        ("I know nothing of medicine.", False, False),
    ],
)
def test_what_denies(text: str, bare: bool, asked: bool) -> None:
    assert (denies(text, asked=False), denies(text, asked=True)) == (bare, asked)


def test_facts_and_ways_of_turning_aside_deny_nothing() -> None:
    facts = [fact for case in CASES for fact in (*case.patient.facts, *case.patient.psychosocial)]
    assert not [fact for fact in facts if denies(fact, asked=False)]
    voiced = [text for case in CASES for concern in case.hidden.concerns for text in concern.voiced]
    assert not [text for text in voiced if denies(text, asked=True)]
    assert not [line for line in TURNED_ASIDE if denies(line, asked=True)]


def asked_about_money(answer: str, *, most: int = 9) -> Played:
    """A clinician who asks after the costs first, and a patient who answers that so up to an attempt."""
    turns = ({"concern_elicitation": 1.0},) * 3
    texts = ("Do the costs weigh on you?", "Hm.", "Go on about the bill.")

    def patient(call: Call) -> str:
        return answer if call.ordinal == 1 and call.attempt <= most else honest(call)

    replies = actors(turns, patient=patient, message=lambda call: texts[min(call.ordinal, 3) - 1])
    return play(SIMULATOR, CASE, replies, setting="confirmation-8")


def test_asked_before_its_time_the_patient_turns_it_aside() -> None:
    played = asked_about_money("We will see about that.")
    first = played.asked("reply")[0]
    assert first.material["asked"]
    (line,) = first.material["deflections"]
    assert line in (*CASE.patient.deflections, *TURNED_ASIDE)
    assert line in first.instruction


@pytest.mark.parametrize("answer", ["No.", "Money is no problem.", "It's nothing."])
def test_a_denial_is_asked_for_again_and_never_said(answer: str) -> None:
    mended, stubborn = asked_about_money(answer, most=1).ended, asked_about_money(answer).ended
    assert mended.flags[f"patient, refused: {DENIAL}"] == 1
    assert stubborn.flags["patient: fallback"] == 1
    for ended in (mended, stubborn):
        assert not any(denies(turn.text, asked=True) for turn in ended.turns if turn.role == "patient")
        assert TOLD_AFTER_DENIAL not in ended.flags


def test_what_is_told_after_a_denial_is_found() -> None:
    planted = [("Hm.", True), ("No.", True), ("The bills.", False), ("No.", False)]
    assert told_after_denial(planted, {"a": 1, "b": 3}) == ["b"]
    assert told_after_denial(planted, {"a": 2}) == [], "told in the reply that denies the rest"
    assert told_after_denial(planted[:1] + planted[2:], {"a": 2, "b": 3}) == []


def test_a_denial_that_passed_the_guard_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reserved_patient.DisclosureGuard, "fault", lambda guard, text: None)
    script = clinician("good")
    replies = actors(({"concern_elicitation": 1.0, "space_provision": 1.0, "emotional_responsiveness": 1.0},))

    def denying(call: Call) -> str | ActorReply:
        if call.actor == "clinician":
            return script.reply(call)
        return "No, nothing." if call.actor == "patient" and call.ordinal == 1 else replies(call)

    ended = play(SIMULATOR, CASE, denying, setting="confirmation-8").ended
    assert ended.flags[TOLD_AFTER_DENIAL] == 1

"""Measures of traces: by hand on courses whose reveal and address are known."""

from __future__ import annotations

import pytest

from bedside.metrics.protocols.medconceal.measures import CaseTrace, measure
from bedside.metrics.protocols.medconceal.policy import Step, challenge_cues
from bedside.metrics.protocols.medconceal.trace import Trace, TurnState
from bedside.transcripts.transcript import Transcript
from tests.conftest import conversation
from tests.metrics.protocols.summaries import trace_summary


def course(
    turns: int,
    revealed_at: dict[str, int],
    *,
    concerns: tuple[str, ...] = ("a", "b"),
    primary: str | None = "a",
    addressed_at: int | None = None,
    blocked: tuple[int, ...] = (),
) -> Trace:
    history = tuple(
        TurnState(
            number,
            Step(2 * (number - 1), number in blocked, (), 0.0),
            (),
            tuple(concern for concern, at in revealed_at.items() if at == number),
            0.0,
            False,
            addressed_at is not None and number >= addressed_at,
            (),
        )
        for number in range(1, turns + 1)
    )
    return Trace(concerns, primary, revealed_at, addressed_at, history)


def talk(turns: int, *after: tuple[str, str]) -> Transcript:
    return conversation(*[("clinician", "Hm."), ("patient", "Yes.")] * turns, *after)


def measured(trace: Trace, limit: int = 3) -> CaseTrace:
    return measure(talk(trace.turns), trace, turn_limit=limit)


def test_reveal_measures() -> None:
    found = measured(course(5, {"a": 2, "b": 4}, blocked=(1, 3)))
    assert found.reveal_rate.value == 1
    assert found.full_reveal.value == 1
    assert found.turns_to_full_reveal.value == 4
    assert found.revealed_by_limit.value == 0.5
    assert found.turns_per_revealed.value == 2.5
    assert found.cumulative_reveal == (0, 1, 1, 2, 2)
    assert (found.blocked, found.meta_probe_rate.value) == (2, 0.4)


def test_what_did_not_happen_is_missing() -> None:
    found = measured(course(5, {"b": 1}))
    assert found.full_reveal.value == 0
    assert found.turns_to_full_reveal.missing == "1 of 2 concerns stayed hidden"
    assert found.success.value == 0
    for each in (found.turns_to_address, found.lag, found.open_after, found.challenged_after):
        assert each.missing == "the primary concern was not addressed"
    assert measured(course(5, {})).turns_per_revealed.missing == "no concern was revealed"
    without = measured(course(5, {}, primary=None))
    for each in (without.success, without.turns_to_address, without.lag, without.open_after):
        assert each.missing == "the case doesn't say which concern is the primary one"


def test_address_measures_and_what_comes_after() -> None:
    trace = course(4, {"a": 1}, addressed_at=4)
    stops = talk(3, ("clinician", "Hm."))
    found = measure(stops, trace, turn_limit=8)
    assert (found.success.value, found.turns_to_address.value, found.lag.value) == (1, 4, 3)
    assert found.open_after.missing == "no clinician turn after the concern was addressed"
    assert found.challenged_after.missing == "no patient turn after the concern was addressed"
    goes_on = talk(
        3,
        ("clinician", "Hm."),
        ("patient", "I'm still scared of it."),
        ("clinician", "What scares you most?"),
        ("patient", "The needle."),
        ("clinician", "Do you trust me?"),
        ("patient", "Do I really have to?"),
        ("clinician", "You don't."),
        ("patient", "Fine."),
    )
    found = measure(goes_on, trace, turn_limit=8)
    assert found.open_after.value == pytest.approx(1 / 3)
    assert found.challenged_after.value == 0.5


def test_open_turns_by_peoples_codes() -> None:
    trace = course(1, {"a": 1}, addressed_at=1)

    def coded(**codes: str) -> tuple[str, str, dict[str, object]]:
        return "clinician", "x", {"codes": {who: {"question": label} for who, label in codes.items()}}

    said = conversation(
        ("clinician", "x"), coded(anna="open", ben="open", eva="closed"), coded(anna="none"), ("clinician", "x")
    )
    found = measure(said, trace, turn_limit=8, open_coder="human")
    assert found.open_after.value == 0.5, "most say open; none; the last turn is not coded"
    bare = conversation(("clinician", "x"), ("clinician", "What else?"))
    assert measure(bare, trace, turn_limit=8, open_coder="human").open_after.missing


def test_other_languages_have_no_cues() -> None:
    trace = course(1, {"a": 1}, addressed_at=1)
    said = conversation(("clinician", "x"), ("patient", "Ich habe Angst."), language="de")
    assert "English" in str(measure(said, trace, turn_limit=8).challenged_after.missing)


def test_summary_over_cases() -> None:
    cases = [
        measured(course(4, {"a": 2, "b": 3}, addressed_at=4)),
        measured(course(2, {"b": 1})),
        measured(course(3, {}, concerns=("a", "b", "c", "d"), primary=None)),
    ]
    found = trace_summary(cases)
    assert found.cases == 3
    assert found.reveal_rate.value == 3 / 8
    assert found.reveal_rate_by_case.value == pytest.approx((1 + 0.5 + 0) / 3)
    assert found.full_reveal_rate.value == pytest.approx(1 / 3)
    assert (found.turns_to_full_reveal.value, found.turns_to_full_reveal.n, found.turns_to_full_reveal.dropped) == (
        3,
        1,
        2,
    )
    assert found.turns_per_revealed.value == 3
    assert (found.success_rate.value, found.success_rate.n, found.success_rate.dropped) == (0.5, 2, 1)
    # Concerns revealed by turn 1, 2, 3, 4 of 8; the second case ends after turn 2 and stays as it was.
    assert found.cumulative_reveal == (1 / 8, 2 / 8, 3 / 8, 3 / 8)
    assert found.cumulative_success == (0, 0, 0, 0.5)
    assert found.lag.value == 2
    nothing = trace_summary([])
    assert nothing.reveal_rate.missing
    assert nothing.cumulative_reveal == nothing.cumulative_success == ()


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("I'm still a bit worried about it.", ("continued worry",)),
        ("But what if it comes back?", ("continued worry",)),
        ("I’m really not sure.", ("hesitation",)),
        ("I'd like some time to think.", ("hesitation",)),
        ("Do I have to take it?", ("asking to avoid the plan",)),
        ("Can't we just wait?", ("asking to avoid the plan",)),
        ("I don't want to take pills. I'm scared.", ("continued worry", "asking to avoid the plan")),
        ("I'm not worried any more.", ()),
        ("I was afraid at first.", ()),
        ("That sounds good, thank you.", ()),
        ("I'm sure we can do that.", ()),
        ("Is there a bus to the clinic?", ()),
        ("I don't want to lose my job.", ()),
    ],
)
def test_challenge_cues(text: str, kinds: tuple[str, ...]) -> None:
    assert challenge_cues(text) == kinds

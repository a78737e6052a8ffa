"""Candidates: how often they are asked for, what is taken, and in which order."""

from __future__ import annotations

import json
from itertools import permutations
from typing import Any

import pytest

from bedside.simulation.simulators.asking import Fault
from bedside.simulation.simulators.calls import ActorReply, Call, Line
from bedside.simulation.simulators.calm_it.session import (
    MessageCandidate,
    Ranking,
    clinician_candidates,
    patient_candidates,
)
from bedside.simulation.simulators.contract import UnusableConversationError
from tests.simulation.simulators.playing import Table, run_exchange

_SCHEMA = {"type": "object", "properties": {"message": {"type": "string"}, "end": {"type": "boolean"}}}
RANKING = Ranking(wanted=True, rank="mean", messages=6, language="en")
LINES = (Line("clinician", "Hello."), Line("patient", "I walk the dog in the evening."))


def calls(actor: Any) -> tuple[Call, ...]:
    return tuple(Call(actor, "candidate", number, schema=_SCHEMA) for number in (1, 2, 3))


def check(text: str) -> Fault | None:
    if "shout" in text:
        return Fault("shouts", "Don't shout.")
    return Fault("too long", "Be brief.", kept=True) if "long" in text else None


def test_one_usable_candidate_is_enough_for_the_patient() -> None:
    table = Table({"candidate": ["I shout.", '{"message": "Well.", "end": true}', "A long one."]})
    (good, refused), asked, _ = run_exchange(patient_candidates(calls("patient"), check), table)
    assert [(each.text, each.place, each.ends) for each in good] == [("Well.", 1, True)]
    assert refused == [("I shout.", "shouts"), ("A long one.", "too long")]
    assert len(asked) == 3


def test_the_patient_is_asked_three_times_and_told_what_was_wrong() -> None:
    table = Table({"candidate": [*["I shout."] * 5, "Fine."]})
    (good, refused), asked, _ = run_exchange(patient_candidates(calls("patient"), check), table)
    assert [each.text for each in good] == ["Fine."]
    assert len(refused) == 5
    assert [(call.attempt, call.objection) for call in asked] == [(1, "")] * 3 + [(2, "Don't shout.")] * 3
    with pytest.raises(UnusableConversationError) as caught:
        run_exchange(patient_candidates(calls("patient"), check), Table({"candidate": "I shout."}))
    assert (caught.value.whose, caught.value.reason) == ("patient", "shouts")


def test_a_fault_that_is_kept_is_kept_after_three_times() -> None:
    table = Table({"candidate": ["I shout.", "A long one.", ""] * 3})
    (kept, _), asked, _ = run_exchange(patient_candidates(calls("patient"), check), table)
    assert [(each.text, each.flags) for each in kept] == [("A long one.", ("too long",))]
    assert len(asked) == 9


def watch(text: str) -> tuple[str, ...]:
    return ("refusal",) if "As an AI" in text else ()


def test_the_clinicians_faults_are_results_and_only_silence_is_asked_again() -> None:
    flagged = Table({"candidate": ["As an AI, no.", "I see.", "As an AI, never."]})
    (taken, refused), asked, _ = run_exchange(clinician_candidates(calls("clinician"), watch), flagged)
    assert [each.text for each in taken] == ["I see."]
    assert len(asked) == 3
    assert [reason for _, reason in refused] == ["refusal", "refusal"]
    every = Table({"candidate": "As an AI, no."})
    (taken, refused), asked, _ = run_exchange(clinician_candidates(calls("clinician"), watch), every)
    assert [each.flags for each in taken] == [("refusal",)] * 3
    assert (len(asked), refused) == (3, [])
    silent = Table({"candidate": ["", "", "", "", ActorReply("Half a", cut=True), ""]})
    (taken, _), asked, _ = run_exchange(clinician_candidates(calls("clinician"), watch), silent)
    assert [(each.text, each.flags) for each in taken] == [("Half a", ("cut off",))]
    assert len(asked) == 6


def _scored(scores: dict[str, float]) -> Any:
    def reply(call: Call) -> str:
        return json.dumps({"scores": [scores[text] for text in call.material["candidates"]]})

    return reply


def test_the_highest_score_wins_whatever_the_order() -> None:
    scores = {"One.": -2.0, "Two.": -0.5, "Three.": -1.0}
    for texts in permutations(scores):
        candidates = [MessageCandidate(text, place) for place, text in enumerate(texts)]
        chosen, asked, _ = run_exchange(RANKING.best("patient", 1, LINES, candidates), _scored(scores))
        assert chosen.candidate.text == "Two."
        assert chosen.scores == tuple(scores[text] for text in texts)
        (call,) = asked
        assert (call.actor, call.history) == ("ranker", LINES)
        assert [message.role for message in call.messages()] == ["system", "user"]
        assert "Clinician: Hello.\nPatient: I walk" in call.messages()[1].content


def test_of_equal_scores_the_first_and_of_equal_texts_one() -> None:
    candidates = [MessageCandidate(text, place) for place, text in enumerate(("B.", "A.", "B."))]
    chosen, (call,), _ = run_exchange(RANKING.best("patient", 1, LINES, candidates), _scored({"A.": 1, "B.": 1}))
    assert chosen.candidate.place == 0
    assert call.material["candidates"] == ["B.", "A."]
    alone = [MessageCandidate("B.", 0), MessageCandidate("B.", 1)]
    chosen, asked, _ = run_exchange(RANKING.best("patient", 1, LINES, alone), _scored({}))
    assert (chosen.candidate.place, asked) == (0, [])


def test_a_winner_that_repeats_most_is_noted() -> None:
    texts = ("I walk the dog in the evening again.", "My sister rang on Sunday.")
    candidates = [MessageCandidate(text, place) for place, text in enumerate(texts)]
    for winner, bland in ((0, True), (1, False)):
        scores = {text: float(place == winner) for place, text in enumerate(texts)}
        chosen, _, _ = run_exchange(RANKING.best("patient", 1, LINES, candidates), _scored(scores))
        assert chosen.bland is bland


@pytest.mark.parametrize("scores", ["[1, 2]", '[1, "2", 3]', "[1, 2, NaN]", "null"])
def test_scores_that_are_none_end_the_session_as_missing(scores: str) -> None:
    candidates = [MessageCandidate(text, place) for place, text in enumerate(("A.", "B.", "C."))]
    with pytest.raises(UnusableConversationError) as caught:
        run_exchange(RANKING.best("patient", 1, LINES, candidates), lambda call: f'{{"scores": {scores}}}')
    assert caught.value.whose == "evaluator"

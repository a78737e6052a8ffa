"""History taking: by hand, against the published script's arithmetic, and TRL's format."""

from __future__ import annotations

import statistics
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from bedside.metrics.protocols.label_files import Measured
from bedside.metrics.protocols.note2chat.history import History, dont_know_and_repeats, history, turn_rewards
from bedside.metrics.protocols.note2chat.labels import HistoryLabels, reply_kind
from bedside.metrics.protocols.note2chat.preferences import (
    RULES,
    Candidate,
    dialogue_reward,
    dialogue_rewards,
    pair_record,
    preference_pairs,
    ranked_recalls,
)
from bedside.transcripts.transcript import Transcript
from tests.conftest import conversation
from tests.metrics.protocols.summaries import history_summary


def talk(exchanges: int, **fields: Any) -> Transcript:
    """Opening complaint, questions with answers, diagnosis: 2 · exchanges + 2 messages."""
    asked = [each for n in range(exchanges) for each in (("clinician", f"Question {n}?"), ("patient", f"Answer {n}."))]
    return conversation(("patient", "It hurts."), *asked, ("clinician", "Candidates: x, y."), **fields)


def labels(**given: Any) -> HistoryLabels:
    return HistoryLabels.model_validate({"id": "t", "rater": "human:anna", **given})


def at(*messages: int | None) -> list[dict[str, Any]]:
    return [{"message": message} for message in messages]


def case(transcript: Transcript, **given: Any) -> History:
    found = history(transcript, labels(**given))
    assert isinstance(found, History), found
    return found


# -- recall, precision, F1 -------------------------------------------------------------------------------------


def test_a_clinician_that_says_nothing_in_a_simulation_elicited_nothing() -> None:
    """It was asked and kept silent, which is a result; elsewhere one side alone is half a conversation."""
    alone = conversation(("patient", "It hurts."))
    assert history(alone, labels(findings=at(None, 0), diagnosis_rank=None)) == "no clinician turn"
    silent = conversation(("patient", "It hurts."), reference={"simulation": {"stop": "clinician empty"}})
    measured = case(silent, findings=at(None, 0), diagnosis_rank=None)
    assert (measured.recall.value, measured.precision.value, measured.f1.value) == (0, 0, 0)
    assert (measured.questions, measured.findings, measured.top(5).value) == (0, 1, 0)
    assert turn_rewards(silent, labels(findings=at(None), diagnosis_rank=None)) == {}


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Beats me", "dont_know"),
        (" beats ME!", "dont_know"),
        ("Beats me, why?", "answer"),
        ("You did ask.", "already_asked"),
        ("抱歉，我不知道。", "answer"),
        ("I don't know.", "dont_know"),
        ("!", "answer"),
    ],
)
def test_the_sentences_of_a_simulated_patient_are_told_by_themselves(text: str, kind: str) -> None:
    assert reply_kind(text, {"dont_know": "Beats me.", "already_asked": "You did ask"}) == kind


def test_by_hand() -> None:
    # 5 exchanges: messages 0 … 11, diagnosis at 11; the finding at 0 and the flagged one are the opening's.
    findings = [*at(0, 2, 4, 4, None), {"message": 6, "opening": True}]
    found = case(talk(5), findings=findings, diagnosis_rank=1)
    assert (found.findings, found.elicited, found.questions, found.messages) == (4, 3, 5, 12)
    assert (found.recall.value, found.precision.value) == (0.75, 0.6)
    assert found.f1.value == pytest.approx(2 * 0.75 * 0.6 / 1.35)
    assert [found.top(k).value for k in range(1, 6)] == [0, 1, 1, 1, 1]


def test_what_only_the_diagnosis_says_is_not_elicited() -> None:
    assert case(talk(2), findings=at(5)).elicited == 0
    # With the diagnosis in the middle only what comes before counts; without one everything does.
    assert case(talk(2), findings=at(2, 4), diagnosis_message=3).elicited == 1
    assert case(talk(2), findings=at(2, 4), diagnosis_message=3).questions == 1
    assert case(talk(2), findings=at(2, 5), diagnosis_message=None).elicited == 2
    assert case(talk(2), findings=at(2), diagnosis_message=None).questions == 3


def test_a_message_of_either_side_conveys_a_finding() -> None:
    """A doctor's summary counts like a patient's answer, and so does the turn that holds it."""
    transcript = talk(3)
    assert [turn.role for turn in transcript.turns[1:3]] == ["clinician", "patient"]
    found = case(transcript, findings=at(1, 2, None))
    assert (found.elicited, found.findings) == (2, 3)
    assert turn_rewards(transcript, labels(findings=at(5), diagnosis_rank=0)) == {
        1: Measured(0.0), 3: Measured(0.0), 5: Measured(1.0), 7: Measured(1.0),
    }  # fmt: skip


def test_an_ending_with_the_patient_has_no_diagnosis_message() -> None:
    open_end = conversation(
        ("clinician", "Hello."), ("patient", "It hurts."), ("clinician", "Where?"), ("patient", "Here.")
    )
    found = case(open_end, findings=at(1, 3))
    assert (found.findings, found.elicited, found.questions) == (1, 1, 2)


def test_precision_is_at_most_one_and_nothing_elicited_is_zero() -> None:
    assert case(talk(1), findings=at(2, 2, 2)).precision.value == 1
    found = case(talk(3), findings=at(None, None))
    assert (found.recall.value, found.precision.value, found.f1.value) == (0, 0, 0)


def test_nothing_asked_is_zero_and_not_missing() -> None:
    at_once = case(talk(0), findings=at(None, None))
    assert (at_once.questions, at_once.elicited) == (0, 0)
    assert (at_once.recall.value, at_once.precision.value, at_once.f1.value) == (0, 0, 0)
    # By the authors' count there is half a question, and nothing it brought out.
    assert (at_once.precision_by_messages.value, at_once.f1_by_messages.value) == (0, 0)
    # What the patient says unasked was not elicited.
    told = conversation(("patient", "It hurts."), ("patient", "Here."), ("clinician", "Candidates: x."))
    unasked = case(told, findings=at(1, None))
    assert (unasked.elicited, unasked.recall.value, unasked.precision.value) == (0, 0, 0)
    assert unasked.f1.value == 0


def test_the_means_are_over_all_dialogues() -> None:
    """One of twelve dialogues asks, and has an F1 of 2/3: the mean is .056, not .667."""
    asking = case(talk(4), findings=at(0, 2, 4, 8, None, None))
    assert asking.f1.value == pytest.approx(2 / 3)
    whole = history_summary([asking, *(case(talk(0), findings=at(0, None)) for _ in range(11))])
    for measure in (whole.f1, whole.recall, whole.precision):
        assert (measure.n, measure.dropped) == (12, 0)
    assert whole.f1.value == pytest.approx(2 / 3 / 12)
    assert whole.recall.value == pytest.approx(0.6 / 12)
    assert whole.precision.value == pytest.approx(0.75 / 12)
    assert whole.questions.value == pytest.approx(4 / 12)


def test_missing_with_reasons() -> None:
    assert case(talk(3)).recall.missing == "no labels of findings"
    assert case(talk(3)).f1.missing == "no labels of findings"
    assert case(talk(3)).category_recall("site").missing == "no labels of findings"
    opening = case(talk(3), findings=at(0))
    assert opening.recall.missing
    # The authors' script leaves the case out of precision too; by the paper's words it is 0 of 3 questions.
    assert (opening.precision_by_messages.value, opening.precision.value) == (None, 0)
    assert case(talk(3)).top(1).missing == "no label of the diagnosis's rank"
    assert case(talk(3), diagnosis_rank=None).top(5).value == 0
    assert case(talk(3), findings=at(2)).category_recall("site").missing == "no finding of the category site"
    assert "message 99" in str(history(talk(3), labels(findings=at(99))))
    assert "not the clinician's" in str(history(talk(3), labels(diagnosis_message=0)))
    assert history(conversation(("clinician", "x")), labels()) == "no patient turn"


def script(messages: int, conveyed: list[int | None], hits: list[bool]) -> tuple[float, float, float] | None:
    """The authors' summary, from what it computes: recall without complaint hits, precision over (n − 1) / 2."""
    gold = len(conveyed) - sum(hits)
    supported = sum(
        not hit and message is not None and 0 < message < messages - 1
        for message, hit in zip(conveyed, hits, strict=True)
    )
    if gold == 0:
        return None
    recall = min(supported / gold, 1.0)
    precision = min(supported / (messages - 1) * 2, 1)
    return recall, precision, 2 * precision * recall / (precision + recall) if precision + recall else 0.0


@pytest.mark.slow
@given(st.integers(1, 6), st.lists(st.tuples(st.one_of(st.none(), st.integers(1, 99)), st.booleans()), max_size=8))
@settings(max_examples=200, deadline=None)
def test_equals_the_published_script_with_its_count_of_questions(
    exchanges: int, rows: list[tuple[int | None, bool]]
) -> None:
    transcript = talk(exchanges)
    rows = [(None if message is None else message % len(transcript.turns) or 1, hit) for message, hit in rows]
    findings = [{"message": message, "opening": hit} for message, hit in rows]
    found = case(transcript, findings=findings)
    expected = script(len(transcript.turns), [message for message, _ in rows], [hit for _, hit in rows])
    if expected is None:
        assert found.recall.missing
        assert found.precision_by_messages.missing == found.recall.missing
    else:
        by_script = (found.recall.value, found.precision_by_messages.value, found.f1_by_messages.value)
        assert by_script == pytest.approx(expected)


def test_averages_are_means_of_cases() -> None:
    cases = [
        case(talk(1), findings=[{"message": 2, "categories": ["site", "onset"]}], diagnosis_rank=0),
        case(talk(4), findings=[*at(2, None), {"message": None, "categories": ["site"]}], diagnosis_rank=3),
        case(talk(2), diagnosis_rank=None),
    ]
    found = history_summary(cases)
    assert found.recall.value == pytest.approx((1 + 1 / 3) / 2)
    assert found.precision.value == pytest.approx((1 + 1 / 4) / 2)
    assert found.f1.value == pytest.approx((1 + 2 / 7) / 2)
    mixed = 2 * found.recall.value * found.precision.value / (found.recall.value + found.precision.value)  # type: ignore[operator]
    assert found.f1.value != pytest.approx(mixed), "not the F1 of the averages"
    assert (found.recall.n, found.recall.dropped) == (2, 1)
    assert [each.value for each in found.top] == pytest.approx([1 / 3, 1 / 3, 1 / 3, 2 / 3, 2 / 3])
    assert found.by_category["site"].value == 0.5
    assert found.by_category["onset"].value == 1
    assert found.by_category["timing"].missing
    assert history_summary([]).recall.missing


# -- replies -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("I don't know.", "dont_know"),
        ("Sorry, I don’t really know that.", "dont_know"),
        ("I'm not sure, doctor.", "dont_know"),
        ("No idea!", "dont_know"),
        ("I can't remember.", "dont_know"),
        ("Sorry, you've already asked this question.", "already_asked"),
        ("As I said, since Monday.", "already_asked"),
        ("You asked me that earlier.", "already_asked"),
        ("I already told you about the cough.", "already_asked"),
        ("I don't know why, but it hurts at night.", "answer"),
        ("I don't know anybody with that illness.", "answer"),
        ("Since Monday.", "answer"),
        ("My sister asked me to come.", "answer"),
    ],
)
def test_kinds_of_reply(text: str, kind: str) -> None:
    assert reply_kind(text) == kind


def test_shares_of_replies() -> None:
    said = conversation(
        ("patient", "I don't know."), ("clinician", "x"), ("patient", "I don't know."), ("clinician", "x"),
        ("patient", "Here."), ("clinician", "x"), ("patient", "Sorry, you've already asked this question."),
        ("clinician", "x"),
    )  # fmt: skip
    dont_know, asked = dont_know_and_repeats(said)
    assert dont_know.value == asked.value == pytest.approx(1 / 3), "the opening is no reply"
    marked = labels(turns={"2": {"reply": "answer"}, "4": {"reply": "dont_know"}, "6": {"conflict": 1}})
    dont_know, asked = dont_know_and_repeats(said, marked)
    assert (dont_know.value, asked.value) == (0.5, 0)
    assert dont_know_and_repeats(said, labels())[0].missing == "no labels of the replies' kind"
    assert dont_know_and_repeats(conversation(("patient", "x"), ("clinician", "y")))[0].missing == "no patient reply"


# -- rewards -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("recall", "best", "rank", "messages", "expected", "given"),
    [
        (0.6, 0.8, 1, 20, 0.6 + 0.75 * 0.8 - 0.01 * 10, {}),
        (0.8, 0.8, 0, 12, 0.8 + 1 - 0.06, {}),
        (0.8, 0.8, 4, 12, 0.8 + 0.2 - 0.06, {}),
        (0.8, 0.8, 5, 12, 0, {}),
        (0.8, 0.8, None, 12, 0, {}),
        (0.8, 0.8, None, 12, 0.8 - 0.06, {"outside": "term"}),
        (0.8, 0.8, 1, 12, 0.8 + 0.5 - 0.06, {"k": 2}),
    ],
)
def test_dialogue_reward(
    recall: float, best: float, rank: int | None, messages: int, expected: float, given: dict[str, Any]
) -> None:
    found = dialogue_reward(recall, best, rank, messages, alpha=0.01, **given)
    assert found.value == pytest.approx(expected)


def test_dialogue_rewards_of_a_case() -> None:
    candidates = [
        case(talk(4), findings=at(2, 4, None, None), diagnosis_rank=0),
        case(talk(2), findings=at(2, None, None, None), diagnosis_rank=2),
        case(talk(2), findings=at(2, None, None, None)),
        case(talk(2), diagnosis_rank=2),
    ]
    found = dialogue_rewards(candidates, alpha=0.1)
    assert found[0].value == pytest.approx(0.5 + 1 - 0.1 * 10 / 2)
    assert found[1].value == pytest.approx(0.25 + 0.5 * (1 - 2 / 5) - 0.1 * 6 / 2)
    assert found[2].missing == "no label of the diagnosis's rank"
    assert found[3].missing == "no labels of findings"
    none = [case(talk(2), findings=at(None), diagnosis_rank=rank) for rank in (0, None)]
    nothing, outside = dialogue_rewards(none, alpha=0.1)
    assert nothing.missing == "no candidate dialogue elicits a finding"
    assert outside.value == 0


def test_turn_rewards() -> None:
    given = {"findings": [*at(0, 2, 3, None), {"message": 6, "opening": True}], "diagnosis_rank": 1}
    found = turn_rewards(talk(3), labels(**given))
    assert isinstance(found, dict)
    # Turn 1 by the reply at 2, turn 3 by itself, turn 5's reply says what the opening said; recall 2/3, rank 1.
    assert {index: reward.value for index, reward in found.items()} == pytest.approx(
        {1: 1, 3: 1, 5: 0, 7: 2 / 3 * (1 - 1 / 5)}
    )
    outside = turn_rewards(talk(3), labels(**{**given, "diagnosis_rank": 5}))
    assert isinstance(outside, dict)
    assert outside[7].value == 0
    unranked = turn_rewards(talk(3), labels(findings=at(2)))
    assert isinstance(unranked, dict)
    assert unranked[7].missing == "no label of the diagnosis's rank"
    assert turn_rewards(talk(3), labels()) == "no labels of findings"


# -- preference pairs ----------------------------------------------------------------------------------------------


def candidates(*rewards: float | None, opening: str = "It hurts.") -> list[Candidate]:
    made = []
    for number, reward in enumerate(rewards):
        transcript = conversation(
            ("other", "You are a doctor."), ("patient", opening), ("clinician", "Where?"), ("patient", "Here."),
            ("clinician", f"Diagnosis {number}."), id=f"d{number}",
        )  # fmt: skip
        made.append(Candidate(transcript, reward))
    return made


def test_pairs_are_high_over_low() -> None:
    rewards = [2.0, 1.0, 1.0, 1.0, 0.0, 1.0, -0.1, None]
    there = [reward for reward in rewards if reward is not None]
    middle, deviation = statistics.mean(there), statistics.stdev(there)
    found = preference_pairs({"c": candidates(*rewards)}, seed=0)
    high = [f"d{n}" for n, each in enumerate(there) if each > middle + deviation]
    low = [f"d{n}" for n, each in enumerate(there) if each < middle - deviation]
    assert (high, low) == (["d0"], ["d4", "d6"])
    assert [(pair.chosen_id, pair.rejected_id) for pair in found.pairs] == [("d0", "d4"), ("d0", "d6")]
    assert found.left_out == ()
    pair = found.pairs[0]
    assert [message["role"] for message in pair.prompt] == ["system", "user", "assistant", "user"]
    assert pair.chosen == ({"role": "assistant", "content": "Diagnosis 0."},)
    assert pair.rejected == ({"role": "assistant", "content": "Diagnosis 4."},)


@given(st.lists(st.integers(-50, 50).map(lambda n: n / 10), min_size=1, max_size=15), st.integers(0, 99))
@settings(max_examples=100, deadline=None)
def test_pairs_hold_to_the_rule(rewards: list[float], seed: int) -> None:
    made = candidates(*rewards)
    found = preference_pairs({"c": made}, seed=seed)
    assert found == preference_pairs({"c": made}, seed=seed)
    assert found.pairs or found.left_out
    if len(rewards) < 2:
        assert not found.pairs
        return
    middle, deviation = statistics.mean(rewards), statistics.stdev(rewards)
    highs = {f"d{n}" for n, each in enumerate(rewards) if each > middle + deviation + 1e-9}
    lows = {f"d{n}" for n, each in enumerate(rewards) if each < middle - deviation - 1e-9}
    for pair in found.pairs:
        assert pair.chosen_reward > middle + deviation - 1e-9
        assert pair.rejected_reward < middle - deviation + 1e-9
    if highs and lows:
        for high in highs:
            drawn = [pair.rejected_id for pair in found.pairs if pair.chosen_id == high]
            assert len(drawn) == len(set(drawn))
            assert min(2, len(lows)) <= len(drawn) <= 2


def test_two_lows_are_drawn_by_the_seed() -> None:
    # Ten ones, four lows, one high.
    made = {"c": candidates(9.0, *[1.0] * 20, *[-6.0] * 4)}
    drawn = {tuple(pair.rejected_id for pair in preference_pairs(made, seed=seed).pairs) for seed in range(30)}
    assert all(len(each) == 2 for each in drawn)
    assert len(drawn) > 3


def test_what_gives_no_pair_is_said() -> None:
    other = candidates(0.0, opening="My head hurts.")[0]
    made = {
        "one": candidates(1.0, None),
        "equal": candidates(1.0, 1.0, 1.0),
        "apart": [*candidates(9.0, *[5.0] * 5), other],
    }
    found = preference_pairs(made, seed=0)
    assert found.pairs == ()
    assert [case for case, _ in found.left_out] == ["one", "equal", "apart"]
    assert found.left_out[0][1] == "1 dialogues with a reward; two are needed"
    assert "don't begin with the same message" in found.left_out[2][1]


@given(st.lists(st.sampled_from([0.0, 0.2, 0.5, 1.0]), min_size=2, max_size=6), st.integers(0, 99))
@settings(max_examples=100, deadline=None)
def test_by_the_codes_rule_one_pair_of_different_rewards_is_drawn(rewards: list[float], seed: int) -> None:
    found = preference_pairs({"c": candidates(*rewards)}, seed=seed, rule="code", margin=0.25)
    assert found == preference_pairs({"c": candidates(*rewards)}, seed=seed, rule="code", margin=0.25)
    if max(rewards) - min(rewards) > 0.25:
        (pair,) = found.pairs
        assert pair.chosen_reward - pair.rejected_reward > 0.25
    else:
        assert found.left_out == (("c", "no two dialogues differ enough in their reward"),)


def test_a_dialogue_is_not_paired_with_one_that_says_the_same() -> None:
    first, second = candidates(1.0, 0.0)
    same = [first, Candidate(Transcript(id="twin", turns=first.transcript.turns), 0.0)]
    for rule in RULES:
        assert preference_pairs({"c": same}, seed=0, rule=rule).pairs == ()
    found = preference_pairs({"c": same}, seed=0, rule="code")
    assert found.left_out == (("c", "d0 and twin say the same"),)
    assert len(preference_pairs({"c": [first, second]}, seed=0, rule="code").pairs) == 1


def test_the_codes_reward_is_recall_times_the_diagnosiss_place() -> None:
    # Three of five findings, the diagnosis third: .6 · (5 − 2)/5 = .36, as the worked example has it for the last turn.
    outcome = case(talk(4), findings=at(2, 4, 6, None, None), diagnosis_rank=2)
    assert [reward.value for reward in ranked_recalls([outcome])] == [pytest.approx(0.36)]
    assert ranked_recalls([replace(outcome, rank=None)])[0].value == 0.0
    assert ranked_recalls([replace(outcome, ranked=False)])[0].missing


def test_a_dialogue_that_begins_another_leaves_both_something() -> None:
    long = talk(3, id="long")
    short = Transcript(id="short", turns=long.turns[:3])
    same = [Candidate(talk(2, id=f"m{n}"), 5.0) for n in range(5)]
    (pair,) = preference_pairs({"c": [Candidate(long, 9.0), *same, Candidate(short, 0.0)]}, seed=0).pairs
    assert [message["content"] for message in pair.prompt] == ["It hurts."]
    assert len(pair.chosen) == 7
    assert len(pair.rejected) == 2


def test_written_in_trls_conversational_preference_format() -> None:
    found = preference_pairs({"c": candidates(2.0, 1.0, 1.0, 1.0, 0.0)}, seed=0)
    assert len(found.pairs) == 1
    for row in map(pair_record, found.pairs):
        parts = [row.pop(name) for name in ("prompt", "chosen", "rejected")]
        assert row == {"margin": 2.0, "case": "c", "chosen_id": "d0", "rejected_id": "d4"}
        for part in parts:
            assert part
            assert all(set(message) == {"role", "content"} for message in part)
            assert {message["role"] for message in part} <= {"system", "user", "assistant"}
        assert parts[0][-1]["role"] == "user"
        assert parts[1][0]["role"] == parts[2][0]["role"] == "assistant"

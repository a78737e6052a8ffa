"""Rewards and pairs of single messages, against values worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from bedside.core.errors import InputError
from bedside.metrics.protocols.note2chat.preferences import pair_record
from bedside.metrics.protocols.note2chat.turn_candidates import (
    CandidateInterview,
    CandidateTurn,
    TurnCandidate,
    diagnosing_reward,
    turn_pairs,
    written_message,
)

PROMPT = ({"role": "system", "content": "brief"}, {"role": "user", "content": "current turn 0"})


def candidate(number: int, kind: str | None, reward: float | None, message: str = "") -> TurnCandidate:
    about: Any = {"kind": kind, "reward": reward}
    return TurnCandidate(number=number, message=message or f"message {number}", **about)


def interview(*turns: tuple[TurnCandidate, ...]) -> CandidateInterview:
    return CandidateInterview(
        id="talk",
        case="a",
        language="en",
        reward="finding",
        generated_recall=1.0,
        turns=tuple(
            CandidateTurn(turn=2 * number + 1, prompt=PROMPT, recall=0.5, candidates=turn)
            for number, turn in enumerate(turns)
        ),
    )


def names(pairs: Any) -> list[tuple[str, str]]:
    return [(pair.chosen_id, pair.rejected_id) for pair in pairs]


@pytest.mark.parametrize(
    ("rank", "recall", "generated", "reward"),
    [
        (0, 1.0, 1.0, 1.0),
        (1, 0.5, 0.8, 0.5),  # 4/5 · .5/.8 = .4/.8
        (4, 0.75, 1.0, 0.15),  # 1/5 · .75
        (2, 0.25, 0.5, 0.3),  # 3/5 · 1/2
        (0, 0.9, 0.6, 1.5),  # more was told than in the interview written from the note
        (3, 0.0, 0.5, 0.0),
        (5, 1.0, 1.0, 0.0),
        (None, 1.0, 1.0, 0.0),
        (None, None, None, 0.0),
    ],
)
def test_diagnosing_is_worth_rank_and_recall(
    rank: int | None, recall: float | None, generated: float | None, reward: float
) -> None:
    assert diagnosing_reward(rank, recall, generated).value == pytest.approx(reward)


@pytest.mark.parametrize(("recall", "generated"), [(None, 1.0), (0.5, None), (0.5, 0.0)])
def test_without_a_recall_there_is_no_reward(recall: float | None, generated: float | None) -> None:
    outcome = diagnosing_reward(0, recall, generated)
    assert outcome.value is None
    assert outcome.missing


def test_the_best_is_paired_with_the_worst_of_each_kind() -> None:
    turn = (
        candidate(1, "asking", 0.0),
        candidate(2, "asking", 1.0),
        candidate(3, "diagnosing", 0.5),
        candidate(4, "diagnosing", 0.2),
        candidate(5, "asking", None),
    )
    pairs, left_out = turn_pairs(interview(turn), seed=0)
    assert names(pairs) == [("talk#1.2", "talk#1.4"), ("talk#1.2", "talk#1.1")]
    assert [pair.chosen_reward - pair.rejected_reward for pair in pairs] == [pytest.approx(0.8), 1.0]
    assert left_out == ()
    assert names(turn_pairs(interview(turn), seed=0, margin=0.8)[0]) == [("talk#1.2", "talk#1.1")]
    assert turn_pairs(interview(turn), seed=0, margin=1.0)[0] == ()
    one = {names(turn_pairs(interview(turn), seed=seed, most=1)[0])[0] for seed in range(40)}
    assert one == set(names(pairs))
    assert pair_record(pairs[0]) == {
        "prompt": PROMPT,
        "chosen": ({"role": "assistant", "content": "message 2"},),
        "rejected": ({"role": "assistant", "content": "message 4"},),
        "margin": pytest.approx(0.8),
        "case": "a",
        "chosen_id": "talk#1.2",
        "rejected_id": "talk#1.4",
    }


def test_a_diagnosis_can_be_the_best() -> None:
    turn = (candidate(1, "diagnosing", 1.5), candidate(2, "asking", 1.0), candidate(3, "diagnosing", 0.0))
    assert names(turn_pairs(interview(turn), seed=0)[0]) == [
        ("talk#1.1", "talk#1.3"), ("talk#1.1", "talk#1.2"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("turn", "reason"),
    [
        ((candidate(1, "asking", 0.0), candidate(2, "diagnosing", 0.0)), "above 0"),
        ((candidate(1, "asking", 1.0), candidate(2, "asking", None)), "two are needed"),
        ((candidate(1, "asking", 1.0), candidate(2, "asking", 1.0)), "differ enough"),
        # The same words with another reward, as a judge may give them.
        ((candidate(1, "asking", 1.0, "So?"), candidate(2, "asking", 0.0, " So? ")), "differ enough"),
        ((), "two are needed"),
    ],
)
def test_a_turn_that_gives_no_pair_says_why(turn: tuple[TurnCandidate, ...], reason: str) -> None:
    pairs, ((name, why),) = turn_pairs(interview(turn), seed=0)
    assert pairs == ()
    assert name == "talk, turn 1"
    assert reason in why


def test_of_equal_ones_one_is_drawn_by_the_seed_and_the_turn_alone() -> None:
    turn = tuple(candidate(number, "asking", float(number > 3)) for number in range(1, 7))
    drawn = [tuple(names(turn_pairs(interview(turn), seed=seed)[0])) for seed in range(300)]
    counts = [drawn.count(pair) for pair in set(drawn)]
    # Nine pairs, each drawn in about a ninth of 300 draws: 33 with a deviation of 5.4.
    assert len(counts) == 9
    assert all(10 < count < 60 for count in counts)
    alone = turn_pairs(interview(turn), seed=7)[0]
    beside = turn_pairs(interview(turn, turn), seed=7)[0]
    assert beside[:1] == alone
    assert turn_pairs(interview(turn), seed=7)[0] == alone


def test_a_thought_stands_before_the_message_and_is_part_of_what_is_preferred() -> None:
    assert written_message("I think.\n", "Where?") == "<think>\nI think.\n</think>\n\nWhere?"
    assert written_message(" ", "Where?") == "Where?"
    turn = (
        TurnCandidate(number=1, message="Where?", thought="I think.", kind="asking", reward=1.0),
        candidate(2, "asking", 0.0),
    )
    ((pair,), _) = turn_pairs(interview(turn), seed=0)
    assert pair.chosen[0]["content"] == "<think>\nI think.\n</think>\n\nWhere?"


@pytest.mark.parametrize("wrong", [{"margin": -0.1}, {"most": 0}, {"most": 3}, {"most": True}])
def test_numbers_out_of_range_are_refused(wrong: Any) -> None:
    with pytest.raises(InputError):
        turn_pairs(interview(), seed=0, **wrong)

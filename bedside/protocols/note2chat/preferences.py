"""Preference pairs from rewarded dialogues, in TRL's conversational preference format."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import orjson

from bedside.protocols.note2chat.history import History, Questions, history
from bedside.protocols.note2chat.labels import label_raters, rater_labels
from bedside.protocols.note2chat.rewards import Outside, dialogue_rewards
from bedside.support.errors import DataError
from bedside.support.files import write_text
from bedside.transcripts.transcript import Role, Transcript

#: Low dialogues paired with each high one, at most.
LOWS = 2

_TRL_ROLES: Mapping[Role, str] = {"clinician": "assistant", "patient": "user", "other": "system"}

#: A message as TRL has it: role (system, user, assistant) and content.
Message = dict[str, str]


@dataclass(frozen=True, slots=True)
class Candidate:
    """One dialogue of a case with its reward; None where it is missing."""

    transcript: Transcript
    reward: float | None


@dataclass(frozen=True, slots=True)
class Pair:
    """A dialogue preferred to another of the same case.

    Attributes:
        case: the case's id.
        chosen_id, rejected_id: the transcripts.
        chosen_reward, rejected_reward: their rewards.
        prompt: the messages both begin with, up to a message of the patient.
        chosen, rejected: the messages that follow it in each.
    """

    case: str
    chosen_id: str
    rejected_id: str
    chosen_reward: float
    rejected_reward: float
    prompt: tuple[Message, ...]
    chosen: tuple[Message, ...]
    rejected: tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class Preferences:
    """All pairs, and what gave none.

    Attributes:
        pairs: in the order of the cases and of the dialogues in them.
        left_out: (case, reason) of cases and pairs that gave nothing.
    """

    pairs: tuple[Pair, ...]
    left_out: tuple[tuple[str, str], ...]


def rewarded(
    transcripts: Iterable[Transcript],
    *,
    alpha: float,
    rater: str | None = None,
    questions: Questions = "counted",
    outside: Outside = "reward",
) -> tuple[dict[str, list[Candidate]], tuple[tuple[str, str], ...]]:
    """Candidate dialogues by case, each with its reward by one rater's labels.

    Args:
        transcripts: labelled ones; those of one ``case_id`` are candidates of each other.
        alpha, outside: see :func:`dialogue_rewards`.
        rater: whose labels count; the only rater of each transcript unless named.
        questions: how questions are counted, see :func:`history`.

    Returns:
        The candidates, and (transcript, reason) of those that have none.
    """
    by_case: dict[str, list[tuple[Transcript, History]]] = {}
    left_out: list[tuple[str, str]] = []
    for transcript in transcripts:
        raters = [name for name in label_raters(transcript) if rater in (None, name)]
        if transcript.case_id is None or len(raters) != 1:
            reason = (
                "no case" if transcript.case_id is None else f"{len(raters)} raters' labels, one is needed"
            )
            left_out.append((transcript.id, reason))
            continue
        outcome = history(transcript, rater_labels(transcript, raters[0]), questions=questions)
        if isinstance(outcome, str):
            left_out.append((transcript.id, outcome))
        else:
            by_case.setdefault(transcript.case_id, []).append((transcript, outcome))
    candidates: dict[str, list[Candidate]] = {}
    for case, members in by_case.items():
        rewards = dialogue_rewards([outcome for _, outcome in members], alpha=alpha, outside=outside)
        candidates[case] = []
        for (transcript, _), reward in zip(members, rewards, strict=True):
            candidates[case].append(Candidate(transcript, reward.value))
            if reward.value is None:
                left_out.append((transcript.id, reward.missing or "no reward"))
    return candidates, tuple(left_out)


def preference_pairs(
    cases: Mapping[str, Sequence[Candidate]], *, seed: int | np.random.Generator, lows: int = LOWS
) -> Preferences:
    """Pairs of a high and a low dialogue of the same case.

    High is a reward over mean + standard deviation of the case's rewards, low one under mean − standard deviation (the
    sample's, with n − 1). Each high dialogue is paired with up to ``lows`` low ones, drawn without replacement.

    Args:
        cases: the candidate dialogues of each case; those without a reward don't count.
        seed: seed or generator of the draw.
        lows: low dialogues for each high one.
    """
    draw = seed if isinstance(seed, np.random.Generator) else np.random.default_rng(seed)
    pairs: list[Pair] = []
    left_out: list[tuple[str, str]] = []
    for case, candidates in cases.items():
        rewarded = [
            (candidate.transcript, candidate.reward)
            for candidate in candidates
            if candidate.reward is not None
        ]
        if len(rewarded) < 2:
            left_out.append((case, f"{len(rewarded)} dialogues with a reward; two are needed"))
            continue
        rewards = np.array([reward for _, reward in rewarded])
        middle, deviation = float(rewards.mean()), float(rewards.std(ddof=1))
        high = [(talk, reward) for talk, reward in rewarded if reward > middle + deviation]
        low = [(talk, reward) for talk, reward in rewarded if reward < middle - deviation]
        if not high or not low:
            left_out.append((case, f"no dialogue is {'high' if not high else 'low'} enough"))
            continue
        for better, better_reward in high:
            for place in sorted(draw.choice(len(low), size=min(lows, len(low)), replace=False).tolist()):
                worse, worse_reward = low[place]
                parts = _parts(_messages(better), _messages(worse))
                if parts is None:
                    left_out.append(
                        (case, f"{better.id} and {worse.id} don't begin with the same message of the patient")
                    )
                    continue
                pairs.append(Pair(case, better.id, worse.id, better_reward, worse_reward, *parts))
    return Preferences(tuple(pairs), tuple(left_out))


def _messages(transcript: Transcript) -> tuple[Message, ...]:
    return tuple({"role": _TRL_ROLES[turn.role], "content": turn.text} for turn in transcript.turns)


def _parts(
    better: tuple[Message, ...], worse: tuple[Message, ...]
) -> tuple[tuple[Message, ...], tuple[Message, ...], tuple[Message, ...]] | None:
    """The longest common beginning that ends with the patient and leaves both something, and the two rests."""
    common = 0
    for first, second in zip(better, worse, strict=False):
        if first != second:
            break
        common += 1
    common = min(common, len(better) - 1, len(worse) - 1)
    while common > 0 and better[common - 1]["role"] != "user":
        common -= 1
    return (better[:common], better[common:], worse[common:]) if common > 0 else None


def write_preferences(pairs: Iterable[Pair], path: str | os.PathLike[str]) -> int:
    """Write pairs as JSON lines of ``prompt``, ``chosen`` and ``rejected``, as TRL's trainers read them.

    Returns:
        The number of pairs written.

    Raises:
        DataError: there is no pair.
    """
    lines = [
        orjson.dumps({"prompt": pair.prompt, "chosen": pair.chosen, "rejected": pair.rejected}).decode()
        for pair in pairs
    ]
    if not lines:
        raise DataError("there are no preference pairs to write", where=str(path))
    write_text(Path(path), "\n".join(lines) + "\n")
    return len(lines)

"""The schedule that is called released, held against dialogues that were released."""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Sequence
from functools import cache
from itertools import groupby
from pathlib import Path

import pytest

from bedside.transcripts.reading import read_transcripts
from bedside.transcripts.transcript import Transcript
from tests.simulation.simulators.mdd5k.scripted_steps import ScriptedSteps, often, released

PERIODS = re.compile("月经|例假|生理期")
PARENTS_KNOW = re.compile("(?:父母|家人|爸妈|家里人).{0,12}(?:知道|知情|了解)")
STATE = re.compile("情绪|心情|状态|精神|心理")
GROUPS = {
    "body": re.compile("胸闷|头晕|头痛|心跳|心慌|月经|幻听|别人听不到"),
    "mind": re.compile("记忆|变笨|反应变慢|注意力|走神"),
    "mood": re.compile("兴奋|狂躁|亢奋|悲观|绝望|哭"),
    "appetite": re.compile("胃口|吃不下|暴食|暴饮"),
}


@cache
def dialogues(folder: Path) -> tuple[Transcript, ...]:
    return tuple(read_transcripts([folder / "conversations"]))


def asked(transcript: Transcript) -> list[str]:
    return [turn.text for turn in transcript.of("clinician")]


def by_case(folder: Path) -> dict[str, list[Transcript]]:
    cases: dict[str, list[Transcript]] = defaultdict(list)
    for transcript in dialogues(folder):
        cases[str(transcript.case_id)].append(transcript)
    return cases


def of_women(talks: Sequence[Transcript]) -> bool:
    """Sex isn't released; only women's trees ask about periods."""
    return any(PERIODS.search(text) for talk in talks for text in asked(talk))


def of_teens(talks: Sequence[Transcript]) -> bool:
    """Nor is age; only teenagers' trees ask whether the parents know, in most of a case's dialogues."""
    return sum(any(PARENTS_KNOW.search(text) for text in asked(talk)) for talk in talks) >= 3


@pytest.mark.slow
def test_mens_dialogues_are_no_shorter_than_the_schedule_lets_them_be(mdd5k: Path) -> None:
    men = [
        len(asked(talk))
        for talks in by_case(mdd5k).values()
        if not of_women(talks) and not of_teens(talks)
        for talk in talks
    ]
    assert len(men) >= 30
    floor = ScriptedSteps()
    released("male_adult", 0, floor)
    lengths = []
    for seed in range(400):
        draw = random.Random(seed)
        steps = ScriptedSteps(verdict=often(draw))
        released("male_adult", seed, steps)
        lengths.append(steps.exchanges)
    assert min(men) == floor.exchanges == 17
    assert sum(men) / len(men) == pytest.approx(sum(lengths) / len(lengths), abs=1)


def test_women_are_asked_for_their_state_first_and_men_rarely(mdd5k: Path) -> None:
    shares: dict[bool, list[bool]] = defaultdict(list)
    for talks in by_case(mdd5k).values():
        shares[of_women(talks)] += [bool(STATE.search(asked(talk)[0])) for talk in talks]
    assert sum(shares[True]) / len(shares[True]) > 0.9
    assert sum(shares[False]) / len(shares[False]) < 0.5


def contiguous(groups: Sequence[str]) -> bool:
    runs = [name for name, _ in groupby(groups)]
    return len(runs) == len(set(runs))


def test_topics_of_a_group_are_asked_together(mdd5k: Path) -> None:
    """By words, so not in all: a follow-up may speak of another group. Shuffled, hardly any would look so."""
    together = shuffled = 0
    draw = random.Random(0)
    for talk in dialogues(mdd5k):
        groups = []
        for text in asked(talk)[2:]:
            at = {match.start(): name for name, words in GROUPS.items() if (match := words.search(text))}
            groups += [at[min(at)]] if at else []
        together += contiguous(groups)
        draw.shuffle(groups)
        shuffled += contiguous(groups)
    assert together > 0.6 * len(dialogues(mdd5k))
    assert shuffled < 0.05 * len(dialogues(mdd5k))

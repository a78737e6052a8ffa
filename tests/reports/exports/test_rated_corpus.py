"""Ratings as the meta of ConvoKit corpora: ConvoKit loads them, they are the run's, and transcripts come back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import bedside
from bedside.transcripts.transcript import Transcript, Turn
from tests.installed import need
from tests.reports.builders import people_rated, scored

need("convokit")


@pytest.fixture(autouse=True)
def _own_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path_factory.mktemp("home")))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> bedside.Run:
    run = scored(tmp_path_factory.mktemp("rated"), metrics=["structure", "behaviour"])
    return people_rated(run)


def ratings_in(corpus: Any) -> dict[tuple[str, str, str, str], Any]:
    """Transcript, unit, metric and rater → value, of all that a corpus says."""
    rated = [(talk.id, "transcript", talk.meta) for talk in corpus.iter_conversations()]
    for utterance in corpus.iter_utterances():
        name, _, index = utterance.id.rpartition("#")
        rated.append((name, f"turn:{index}", utterance.meta))
    return {
        (name, unit, metric, rater): value
        for name, unit, meta in rated
        for metric, by_rater in (meta.get("bedside_ratings") or {}).items()
        for rater, value in by_rater.items()
    }


def ratings_of(run: bedside.Run, names: dict[str, str] | None = None) -> dict[tuple[str, str, str, str], Any]:
    columns = ("transcript_id", "unit", "metric", "rater", "value", "label")
    return {
        (talk, unit, metric, (names or {}).get(rater, rater)): label if value is None else value
        for talk, unit, metric, rater, value, label in run.ratings.select(columns).iter_rows()
    }


def test_a_corpus_of_a_run_says_how_it_was_rated(run: bedside.Run) -> None:
    corpus = bedside.to_convokit(run)
    assert ratings_in(corpus) == ratings_of(run)
    assert len(ratings_of(run)) == run.ratings.height
    # As one would select by it.
    talks = corpus.iter_conversations()
    warm = [talk.id for talk in talks if talk.meta["bedside_ratings"]["empathy"]["human:anna"] >= 4]
    assert 0 < len(warm) < 12
    # What is missing is there, and says why.
    of_talks = run.ratings["unit"] == "transcript"
    missing = run.ratings.filter(run.ratings["error"].is_not_null(), of_talks).row(0, named=True)
    meta = corpus.get_conversation(missing["transcript_id"]).meta
    assert meta["bedside_ratings"][missing["metric"]][missing["rater"]] is None
    assert meta["bedside_reasons"][missing["metric"]][missing["rater"]] == missing["error"]


def test_transcripts_come_back_without_their_ratings(run: bedside.Run) -> None:
    assert list(bedside.from_convokit(bedside.to_convokit(run))) == list(run.transcripts())


def test_convokit_loads_an_exported_corpus(run: bedside.Run, tmp_path: Path) -> None:
    from convokit import Corpus

    out = tmp_path / "corpus"
    written = bedside.export(run, "convokit", out, rater_names=True)
    assert {entry.name: entry.rows for entry in written.tables} == {
        "conversations": 12, "utterances": 264, "ratings": run.ratings.height,
    }  # fmt: skip
    loaded = Corpus(filename=str(out))
    assert ratings_in(loaded) == ratings_of(run)
    talks = [talk.to_json() for talk in run.transcripts()]
    assert [talk.to_json() for talk in bedside.from_convokit(loaded)] == talks
    # And as a folder of transcripts, with no ratings among factors and references.
    assert [talk.to_json() for talk in bedside.read_transcripts(out)] == talks
    again = bedside.score(out, tmp_path / "again", metrics="turns")
    assert again.run.manifest["transcripts"]["skipped"] == []


def test_people_have_other_names_in_an_exported_corpus(run: bedside.Run, tmp_path: Path) -> None:
    from convokit import Corpus

    bedside.export(run, "convokit", tmp_path / "corpus")
    loaded = Corpus(filename=str(tmp_path / "corpus"))
    raters = {rater for _, _, _, rater in ratings_in(loaded)}
    people = sorted(rater for rater in raters if rater.startswith("human:"))
    assert people == ["human:rater-1", "human:rater-2"]
    codes = [utterance.meta.get("codes") or {} for utterance in loaded.iter_utterances()]
    coders = {coder for own in codes for coder in own}
    assert coders == {"rater-1", "rater-2"}
    named = ratings_in(loaded)
    counts = {rater: sum(1 for key in named if key[3] == rater) for rater in people}
    real = dict(run.ratings.group_by("rater").len().iter_rows())
    assert sorted(counts.values()) == sorted(real[f"human:{name}"] for name in ("anna", "ben"))


def test_ratings_that_differ_by_pass_round_or_partner_stand_apart(tmp_path: Path) -> None:
    question = Turn(0, "clinician", "D", "How are you?", {"bedside_ratings": "mine"})
    said = (question, Turn(1, "patient", "P", "Well."))
    talks = [Transcript(name, said, system=system) for name, system in (("a", "x"), ("b", "y"))]
    run = scored(tmp_path, talks, ["turns"])
    for number, round in enumerate(("pilot", "main")):
        file = tmp_path / f"{round}.csv"
        file.write_text(
            f"item,rater,metric,value,replicate,turn\na,anna,warm,{number + 1},0,\na,anna,warm,{number + 3},1,\n"
            f"a,anna,kind,{number + 1},0,1\n",
            "utf-8",
        )
        bedside.import_ratings(run, file, scales="1-5", round=round)
    pairs = tmp_path / "pairs.csv"
    pairs.write_text("first,second,rater,preferred,metric\na,b,anna,first,empathy\n", "utf-8")
    bedside.import_ratings(run, pairs)
    corpus = bedside.to_convokit(run)
    rated = corpus.get_conversation("a").meta["bedside_ratings"]
    assert rated["warm"] == {
        "human:anna pass 0 round pilot": 1, "human:anna pass 1 round pilot": 3,
        "human:anna pass 0 round main": 2, "human:anna pass 1 round main": 4,
    }  # fmt: skip
    assert rated["empathy.preference"] == {"human:anna against b": "first"}
    assert corpus.get_utterance("a#1").meta["bedside_ratings"]["kind"] == {
        "human:anna round pilot": 1, "human:anna round main": 2,
    }  # fmt: skip
    assert list(bedside.from_convokit(corpus)) == list(run.transcripts())

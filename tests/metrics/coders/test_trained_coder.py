"""Trained coders: what they learn, their file and its card, and every way in which a file can be wrong."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bedside.core.errors import DataError, InputError
from bedside.metrics import FAMILIES
from bedside.metrics.coders.finder import find_coder
from bedside.metrics.coders.learned.array_file import digest
from bedside.metrics.coders.learned.trained_coder import TrainedCoder, load_card, load_coder, save_coder
from bedside.metrics.coders.learned.training import TrainingOutcome, fit_roles, out_of_fold, train
from bedside.metrics.coders.learned.training_set import read_training_set, text_hash
from bedside.metrics.coders.testing.coder_test import evaluate_coder
from bedside.transcripts.transcript import Transcript
from tests.conftest import conversation, exit_code

OPENING = ("How did the week go", "What would help you", "Why does it matter now", "What do you make of that")
CLOSED = ("Do you live alone", "Have you slept well", "Is it worse at night", "Are you in pain")
REFLECTION = ("So you feel tired of it", "It sounds like a heavy week", "You miss your brother")
CHANGE = ("I want to stop this week", "I will cut down on it", "I need to do it for my kids")
SUSTAIN = ("I like it too much to stop", "I don't want to stop it", "It is no problem for me")
NEUTRAL = ("Hm", "Last Tuesday", "He said so")
TOPICS = ("with the tea", "about the garden", "at the station", "in the choir", "with the boat", "on the hill")


def corpus(sessions: int = 16, *, second: bool = False) -> list[Transcript]:
    """Sessions whose codes follow from their words, in ever new combinations."""
    made = []
    for number in range(sessions):
        draw = np.random.default_rng(number).choice
        turns: list[tuple[Any, ...]] = []
        for k in range(5):
            kind, texts = (("open", OPENING), ("closed", CLOSED), ("none", REFLECTION))[(k + number) % 3]
            codes = {
                "question": kind,
                "reflection": "simple" if kind == "none" else "none",
                "main_behaviour": "reflection" if kind == "none" else "question",
            }
            people = {"anna": codes, **({"ben": {**codes, "question": "closed"}} if second else {})}
            asked = f"{draw(texts)} {draw(TOPICS)}{'.' if kind == 'none' else '?'}"
            turns.append(("clinician", asked, {"codes": people}))
            talk, said = (("change", CHANGE), ("sustain", SUSTAIN), ("neutral", NEUTRAL))[(k + number // 3) % 3]
            turns.append(("patient", f"{draw(said)} {draw(TOPICS)}.", {"codes": {"anna": {"client_talk": talk}}}))
        quality = {"mi_quality": "high" if number % 2 else "low"}
        made.append(conversation(*turns, id=f"s{number}", language="en", factors=quality))
    return made


@pytest.fixture(scope="module")
def made() -> TrainingOutcome:
    return train(corpus(), "tiny", folds=2, day="2026-11-22")


@pytest.fixture
def file(made: TrainingOutcome, tmp_path: Path) -> Path:
    path = tmp_path / "tiny.npz"
    save_coder(made.coder, path)
    return path


@pytest.mark.slow
def test_learns_what_the_words_say(made: TrainingOutcome) -> None:
    assert set(made.coder.codes) == {"question", "reflection", "main_behaviour", "client_talk"}
    scores = {score.view: score for score in made.evaluation.scores}
    assert scores["question: exists"].macro_f1 > 0.9
    assert scores["question"].macro_f1 > 0.8
    assert scores["main_behaviour"].macro_f1 > 0.9
    assert scores["client_talk"].macro_f1 > 0.7


def test_every_turn_of_its_roles_is_coded_with_probabilities(made: TrainingOutcome) -> None:
    transcript = corpus(1)[0]
    codes, confidence = made.coder.code(transcript), made.coder.confidence(transcript)
    assert sorted(codes) == list(range(10))
    assert set(codes[0]) == {"question", "reflection", "main_behaviour"}
    assert set(codes[1]) == {"client_talk"}
    for index, by_code in made.coder.probabilities(transcript).items():
        for code, labels in by_code.items():
            assert sum(labels.values()) == pytest.approx(1)
            assert labels[codes[index][code]] == pytest.approx(confidence[index][code])
    assert made.coder.code(conversation()) == {}
    assert list(made.coder.code(conversation(("clinician", "Why?")))) == [0]


def test_a_turn_is_coded_the_same_whatever_follows_it(made: TrainingOutcome) -> None:
    whole = corpus(1)[0]
    part = replace(whole, turns=whole.turns[:4])
    # Only where a turn stands in the session looks ahead, at its length.
    assert {i: made.coder.code(whole)[i] for i in range(4)} == made.coder.code(part)


def test_the_file_is_the_coder(made: TrainingOutcome, file: Path) -> None:
    again = load_coder(file)
    transcript = corpus(2)[1]
    assert again.code(transcript) == made.coder.code(transcript)
    assert again.confidence(transcript) == made.coder.confidence(transcript)
    assert again.card == made.coder.card
    assert again.content == made.coder.content
    assert load_card(file) == (made.coder.card, f"algorithm:tiny@{made.coder.content[:12]}")
    assert load_coder(file) is again


@pytest.mark.slow
def test_the_same_training_gives_the_same_bytes(made: TrainingOutcome, file: Path, tmp_path: Path) -> None:
    other = train(corpus(), "tiny", folds=2, day="2026-11-22").coder
    save_coder(other, tmp_path / "other.npz")
    assert (tmp_path / "other.npz").read_bytes() == file.read_bytes()
    # The date is on the card but not in the name that stands in ratings.
    later = replace(other, card={**other.card, "date": "2027-01-01"})
    save_coder(later, tmp_path / "later.npz")
    assert load_coder(tmp_path / "later.npz").content == made.coder.content
    assert (tmp_path / "later.npz").read_bytes() != file.read_bytes()


def test_the_date_can_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    from bedside.metrics.coders.learned.training import _day

    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    assert _day(None) == "1970-01-02"
    with pytest.raises(InputError, match="`date`"):
        _day("yesterday")


def test_no_text_is_in_the_file(file: Path) -> None:
    with np.load(file, allow_pickle=False) as arrays:
        content = b"".join(arrays[name].tobytes() for name in arrays.files).lower()
        assert all(arrays[name].dtype.kind in "fiu" for name in arrays.files)
    for text in (*OPENING, *CLOSED, *REFLECTION, *CHANGE, *SUSTAIN, *TOPICS):
        assert text.lower().encode() not in content
        assert all(word.encode() not in content for word in text.lower().split() if len(word) > 6)


@pytest.mark.slow
def test_an_ngram_of_one_transcript_has_no_weight() -> None:
    sessions = corpus()
    turns = list(sessions[0].turns)
    for index in range(0, len(turns), 2):
        turns[index] = replace(turns[index], text=turns[index].text + " xylophone quartz")
    with_secret = [replace(sessions[0], turns=tuple(turns)), *sessions[1:]]
    from bedside.metrics.coders.learned.features import turn_features

    model = fit_roles(read_training_set(with_secret), seed=0)[0]
    secret = turn_features(conversation(("clinician", "xylophone quartz")), ["clinician"])["clinician"]
    plain = turn_features(conversation(("clinician", "x")), ["clinician"])["clinician"]
    own = set(secret.grams.indices) - set(plain.grams.indices)
    assert len(own & set(model.columns.tolist())) < 0.5 * len(own)  # what is left are collisions and short pieces


def test_used_by_the_behaviour_family(file: Path) -> None:
    family = FAMILIES.load("behaviour")
    wanted = frozenset({"question", "percent_open_questions", "percent_change_talk"})
    values = list(family.compute(corpus(1)[0], wanted, **family.settings({"coders": f"human,{file}"})))
    coder = find_coder(str(file))
    own = [value for value in values if value.rater == coder.rater]
    assert coder.rater == f"algorithm:tiny@{coder.version}"
    assert len([value for value in own if value.metric == "question"]) == 5
    assert all(str(v.reason).startswith("probability 0.") or v.reason == "probability 1.00" for v in own if v.label)
    assert {value.metric for value in own} == wanted
    people = [value for value in values if value.rater == "human:anna"]
    assert all(value.reason is None for value in people if value.label)


def test_other_languages_are_refused(made: TrainingOutcome) -> None:
    transcript = corpus(1)[0]
    assert made.coder.refuses(transcript) is None
    assert made.coder.refuses(replace(transcript, language=None)) is None
    assert "transcript is de" in str(made.coder.refuses(replace(transcript, language="de-CH")))


def test_training_transcripts_are_refused_when_it_is_evaluated(made: TrainingOutcome) -> None:
    old = corpus()
    renamed = [replace(each, id=f"new-{each.id}") for each in old]
    with pytest.raises(DataError):
        evaluate_coder(renamed, made.coder.on_new_sessions())
    turns = (replace(old[0].turns[0], text="Why do you ask?"), *old[0].turns[1:])
    new = replace(old[0], id="new", turns=turns)
    found = evaluate_coder([*old, new], made.coder.on_new_sessions())
    assert (found.transcripts, len(found.refused)) == (1, 16)
    assert evaluate_coder(old, made.coder.coder()).transcripts == 16


def test_the_card_counts_what_it_was_trained_on(made: TrainingOutcome) -> None:
    card, sessions = made.coder.card, corpus()
    training = card["training"]
    assert training["transcripts"] == 16
    assert training["text_sha256"] == sorted(text_hash(each) for each in sessions)
    labels = [turn.meta["codes"]["anna"].get("question") for each in sessions for turn in each.turns]
    assert training["turns"]["question"] == {k: labels.count(k) for k in ("none", "open", "closed")}
    assert (training["languages"], training["people"]) == (["en"], 1)
    assert card["codes"]["reflection"] == ["none", "simple"]
    assert card["date"] == "2026-11-22"
    assert card["features"]["embeddings"] is None
    rows = {row["code"]: row for row in card["out_of_fold"]["codes"]}
    scores = {score.view: score.macro_f1 for score in made.evaluation.scores}
    assert {code: row["macro_f1"] for code, row in rows.items()} == pytest.approx(scores)


def test_gold_is_the_majority_and_ties_are_counted() -> None:
    training = read_training_set(corpus(second=True))
    # Ben says closed of every turn: anna's open and none are tied with it.
    closed = sum(turn.meta["codes"]["anna"].get("question") == "closed" for each in corpus() for turn in each.turns)
    assert training.counts["question"] == {"closed": closed}
    assert training.ties["question"] == 80 - closed
    assert "question" not in training.labels
    assert training.coders == 2


@pytest.mark.slow
def test_nothing_of_a_fold_is_seen_in_training() -> None:
    """Labels drawn at random can't be predicted for new transcripts, however well they could be learned by heart."""
    generator = np.random.default_rng(0)
    sessions = []
    for number in range(24):
        turns = []
        for k in range(8):
            label = str(generator.choice(["open", "closed"]))
            turns.append(("clinician", f"session{number} turn{k}?", {"codes": {"anna": {"question": label}}}))
        sessions.append(conversation(*turns, id=str(number)))
    doubled = [*sessions, *(replace(each, id=f"{each.id}-copy") for each in sessions)]
    given, _ = out_of_fold(read_training_set(doubled), folds=4)
    score = next(s for s in evaluate_coder(doubled, given).scores if s.view == "question")
    assert abs(score.accuracy - 0.5) < 0.15


@pytest.mark.slow
def test_probabilities_are_calibrated() -> None:
    """Where a word makes a label three times as likely, its probability is about three quarters."""
    generator = np.random.default_rng(1)
    sessions = []
    for number in range(60):
        turns = []
        for _ in range(12):
            word = bool(generator.integers(2))
            label = "open" if generator.random() < (0.75 if word else 0.25) else "closed"
            text = f"{'apple' if word else 'pear'} {' '.join(generator.choice(list('abcdefgh'), 3))}?"
            turns.append(("clinician", text, {"codes": {"anna": {"question": label}}}))
        sessions.append(conversation(*turns, id=str(number)))
    _, seen = out_of_fold(read_training_set(sessions), folds=3)
    gold, found = seen["question"]
    high = found[:, 0] > 0.5
    assert found[high, 0].mean() == pytest.approx(np.mean(gold[high] == "open"), abs=0.06)
    assert found[:, 0].mean() == pytest.approx(np.mean(gold == "open"), abs=0.04)


# -- bad input ------------------------------------------------------------------------------------------


def rewritten(file: Path, change: Callable[[dict[str, Any]], None], *, sum_too: bool) -> Path:
    """The file with its arrays changed, with a checksum that fits or not."""
    with np.load(file) as found:
        arrays = {name: found[name] for name in found.files}
    change(arrays)
    if sum_too:
        arrays.pop("checksum", None)
        arrays["checksum"] = np.frombuffer(digest(arrays), np.uint8)
    target = file.with_name("changed.npz")
    np.savez_compressed(target, **arrays)
    return target


def new_card(**changes: Any) -> Callable[[dict[str, Any]], None]:
    def change(arrays: dict[str, Any]) -> None:
        card = json.loads(arrays["card"].tobytes())
        card.update(changes)
        arrays["card"] = np.frombuffer(json.dumps(card).encode(), np.uint8)

    return change


def zero(arrays: dict[str, Any]) -> None:
    arrays["clinician.numbers"] = arrays["clinician.numbers"] * 0


def short(arrays: dict[str, Any]) -> None:
    arrays["clinician.grams"] = arrays["clinician.grams"][:-1]


def lacking(arrays: dict[str, Any]) -> None:
    del arrays["patient.columns"]


def infinite(arrays: dict[str, Any]) -> None:
    arrays["clinician.numbers"] = arrays["clinician.numbers"] + np.inf


def bare(arrays: dict[str, Any]) -> None:
    del arrays["card"]


@pytest.mark.parametrize(
    ("change", "sum_too", "message"),
    [
        (zero, False, "its checksum doesn't fit"),
        (new_card(name="other"), False, "its checksum doesn't fit"),
        (new_card(format=99), True, "made by a newer bedside .*format is 99"),
        (short, True, "array clinician.grams is float32 of shape"),
        (lacking, True, "array patient.columns is missing"),
        (infinite, True, "holds what is no number"),
        (bare, True, "not a trained coder"),
        (new_card(codes={"question": ["open", "none"]}), True, "question with the labels open, none is unknown"),
        (new_card(name="../x y"), True, "lacks a name"),
    ],
)
def test_wrong_files_are_one_line(
    file: Path, change: Callable[[dict[str, Any]], None], sum_too: bool, message: str
) -> None:
    with pytest.raises(InputError, match=message) as caught:
        load_coder(rewritten(file, change, sum_too=sum_too))
    assert "changed.npz" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_bomb_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bedside.metrics.coders.learned.array_file.MOST_BYTES", 1000)
    path = tmp_path / "bomb.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("card.npy", bytes(100_000))
    with pytest.raises(InputError, match="unpacked"):
        load_coder(path)


# -- the command line -----------------------------------------------------------------------------------


def written(folder: Path, sessions: list[Transcript]) -> str:
    path = folder / "coded.jsonl"
    path.write_bytes(b"\n".join(each.to_json() for each in sessions))
    return str(path)


@pytest.mark.slow
def test_train_show_score_and_evaluate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "mine.npz"
    coded = written(tmp_path, corpus(12))
    call = ["train", "coder", coded, "--out", str(out), "--folds", "2", "--date", "2026-11-22"]
    assert exit_code(*call) == 0
    shown = capsys.readouterr()
    assert "Which measures may be used" in shown.out
    assert f"Wrote {out}: algorithm:mine@" in shown.err
    exit_code("show", out)
    shown = capsys.readouterr()
    assert "12 transcripts coded by 1 person" in shown.out
    exit_code("show", out, "--json")
    ((card,),) = (table["rows"] for table in json.loads(capsys.readouterr().out))
    assert card["date"] == "2026-11-22"
    run = tmp_path / "run"
    assert exit_code("score", coded, "--metrics", "behaviour", "--set", f"behaviour.coders={out}", "--out", run) == 0
    from bedside.ratings.run import Run

    assert card["rater"] in set(Run(run).ratings["rater"])
    capsys.readouterr()
    assert exit_code("train", "test-coder", coded, "--coder", out) == 2
    assert "coded none of the 12 transcripts" in capsys.readouterr().err
    assert exit_code("train", "test-coder", coded, "--folds", "2", "--json") == 0
    printed = capsys.readouterr()
    assert len(json.loads(printed.out)) == 4
    assert "Read: 12 transcripts" in printed.err


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (["train", "coder", "{coded}", "--out", "x.txt"], "ends in .npz"),
        (["train", "coder", "{coded}", "--out", "absent/x.npz"], "can't be written"),
        (["train", "coder", "{coded}", "--out", "x.npz", "--name", "a b"], "can't be a coder's name"),
        (["train", "coder", "{coded}", "--out", "x.npz", "--date", "soon"], "--date: 'soon' is not a date"),
        (["train", "coder", "{coded}", "--out", "x.npz", "--embeddings", "nowhere"], "no embedding model is there"),
        (["train", "test-coder", "{coded}", "--folds", "1"], "1 folds are too few"),
        (
            ["train", "test-coder", "{coded}", "--coder", "rules", "--judge", "openai/x"],
            "a coder and a judge are named",
        ),
        (["train", "test-coder", "{coded}", "--coder", "rules", "--quality", "mood"], "no session has a factor 'mood'"),
        (["train", "test-coder", "{coded}", "--coder", "rulez"], "did you mean rules"),
        (["show", "absent.npz"], "there is no such file"),
    ],
)
def test_bad_calls_are_one_line(
    call: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    coded = written(tmp_path, corpus(8))
    assert exit_code(*(part.format(coded=coded) for part in call)) == 2
    (line,) = [each for each in capsys.readouterr().err.splitlines() if not each.startswith("Fold")]
    assert message in line
    assert not (tmp_path / "x.npz").exists()


def test_codes_that_contradict_name_file_and_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    columns = (
        "transcript_id,utterance_id,interlocutor,utterance_text,annotator_id,question_exists,question_subtype,"
        "main_therapist_behaviour,client_talk_type"
    )
    rows = "1,0,therapist,Why?,a,False,closed,question,n/a\n1,1,client,Hm.,a,n/a,n/a,n/a,neutral\n"
    path = tmp_path / "codes.csv"
    path.write_text(f"{columns}\n{rows}", "utf-8")
    assert exit_code("train", "coder", path, "--out", tmp_path / "x.npz") == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "codes.csv:2" in line
    assert "question_exists is 'false'" in line


# -- embeddings -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny encoder with random weights in transformers' format."""
    pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    import torch

    folder = tmp_path_factory.mktemp("models") / "tiny-encoder"
    folder.mkdir()
    words = {word for each in corpus(4) for turn in each.turns for word in turn.text.lower().split()}
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *sorted(words)]
    (folder / "vocab.txt").write_text("\n".join(vocabulary), "utf-8")
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(vocabulary), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16
    )
    transformers.BertModel(config).eval().save_pretrained(folder)
    transformers.BertTokenizerFast(vocab=str(folder / "vocab.txt")).save_pretrained(folder)
    return folder


@pytest.mark.model
@pytest.mark.slow
def test_embeddings_belong_to_the_coder(encoder: Path, tmp_path: Path) -> None:
    from bedside.metrics.coders.learned.embeddings import Embeddings

    embeddings = Embeddings(encoder)
    texts = ["do you live alone", "a", "it sounds like a heavy week about the garden"]
    together = embeddings.encode(texts)
    assert np.linalg.norm(together, axis=1) == pytest.approx(1)
    for text, vector in zip(texts, together, strict=True):
        assert embeddings.encode([text])[0] == pytest.approx(vector, abs=1e-5)
    made = train(corpus(), "deep", embeddings=embeddings, folds=2, day="2026-11-22").coder
    assert made.card["features"]["embeddings"] == {
        "name": "tiny-encoder",
        "sha256": embeddings.sha256,
        "dimensions": 16,
    }
    path = tmp_path / "deep.npz"
    save_coder(made, path)
    transcript = corpus(2)[1]
    assert load_coder(path, encoder).code(transcript) == made.code(transcript)
    with pytest.raises(InputError, match="needs the embedding model tiny-encoder"):
        load_coder(path)
    assert load_card(path)[0]["name"] == "deep"
    import shutil

    other = tmp_path / "tiny-encoder"
    shutil.copytree(encoder, other)
    assert isinstance(load_coder(path), TrainedCoder)
    changed = tmp_path / "changed"
    shutil.copytree(encoder, changed)
    (changed / "config.json").write_text((other / "config.json").read_text("utf-8") + " ", "utf-8")
    with pytest.raises(InputError, match="trained with another embedding model"):
        load_coder(path, changed)


def test_a_coder_is_shown_by_its_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code("show", "rules") == 0
    shown = capsys.readouterr().out
    assert "rules: rule coder for questions" in shown
    assert "algorithm:rules@2" in shown
    assert "Languages: en\n" in shown
    assert exit_code("show", "rules_en") == 2
    assert "'rules_en'; did you mean rules" in capsys.readouterr().err

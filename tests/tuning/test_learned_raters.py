"""Learned raters: what they learn, that what they learnt from is no evidence, and their files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression

import bedside
from bedside.analysis.ratings_view import open_ratings_view
from bedside.core.errors import BedsideError, DataError, InputError
from bedside.metrics.coders.learned.trained_coder import load_card
from bedside.ratings.learnt_units import learnt_in, unit_digests
from bedside.ratings.run import Run
from bedside.ratings.table import frame_of
from bedside.reports.validation import card_tables
from bedside.scoring.run_transcripts import kept_transcripts
from bedside.tuning import level_model
from bedside.tuning.label_split import labelled_units
from bedside.tuning.learned_rater import add_learned_ratings, load_rater, save_rater
from bedside.tuning.level_model import FeatureScale, LevelModel, fit_level_model
from bedside.tuning.rater_training import _targets, teach_rater, try_rater
from bedside.tuning.unit_features import GRAM_COLUMNS, UnitFeatures, unit_features
from tests.conftest import Call, works
from tests.soak import budget
from tests.tuning.rated_run import LEVELS, noisy, of_rater, rated_run, talks

_LOW, _HIGH = ("fine", "okay", "weather", "anyway"), ("sad", "feel", "hard", "understand")


def said(random: np.random.Generator, quality: np.ndarray[Any, Any], known: float = 1.2) -> list[str]:
    """What clinicians of this quality say: the better, the more words of one kind."""
    share = 1 / (1 + np.exp(-known * (quality - 3)))
    return [" ".join(random.choice(_HIGH if random.random() < p else _LOW) for _ in range(25)) for p in share]


def study(folder: Path, size: int = 48, *, known: float = 1.2, seed: int = 5) -> Run:
    """A run whose text tells its quality, rated by three people, a good judge and one that knows nothing."""
    random = np.random.default_rng(seed)
    truth = random.normal(3, 1.2, size)
    people = dict.fromkeys(("human:anna", "human:ben", "human:cleo"), 0.5)
    raters = noisy(random, truth, {**people, "judge:good": 0.3})
    raters["judge:guess"] = random.integers(1, 6, size).astype(float)
    return rated_run(folder, size, raters, per_case=2, texts=said(random, truth, known))


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, Path, Any]:
    folder = tmp_path_factory.mktemp("learned")
    run = study(folder / "run")
    tables = bedside.learn_rater(run, "empathy", folder / "empathy.npz")
    return Run(run.path), folder / "empathy.npz", tables


def test_it_learns_what_the_text_says_and_is_tried_on_other_cases(learned: tuple[Run, Path, Any]) -> None:
    run, _, tables = learned
    trial = tables.results
    assert (trial.training_units, trial.training_cases) == (24, 12)
    assert trial.mean.units == 24
    assert trial.mean.statistics["kappa"].interval.low > 0
    assert [gain.rater for gain in trial.gains] == ["judge:good", "judge:guess"]
    assert [gain.better for gain in trial.gains][1] is False
    assert tables.names == ("learned_rater", "learned_rater_judges")
    # It rated every conversation, those it learnt from too, and with its expected level.
    assert of_rater(run, "algorithm:learned").height == 48
    assert of_rater(run, "algorithm:learned", "empathy.expected")["value"].is_between(1, 5).all()


def test_what_it_learnt_from_is_no_evidence(learned: tuple[Run, Path, Any]) -> None:
    run, _, tables = learned
    (card,) = bedside.validate(run, judges="algorithm:learned-*").results
    assert card.validations[0].with_people == 24
    assert dict(card.facts)["Kind"].startswith("learned rater")
    (entry,) = learnt_in(run.manifest)
    assert entry.rater == tables.results.rater
    means = [row for row in bedside.agree(run).results if row.rater == entry.rater and row.kind == "mean"]
    assert means[0].units == 24
    titles = [table.title for table in card_tables(open_ratings_view(run))]
    assert f"Judge card: {tables.results.rater}" in titles


def test_its_file_rates_another_run_alike(learned: tuple[Run, Path, Any], tmp_path: Path) -> None:
    run, file, tables = learned
    # The same conversations under other names, on other cases: the text tells that it learnt from them.
    renamed = [
        bedside.Transcript(id=f"x{talk.id}", system="s", case_id=f"x{talk.case_id}", turns=talk.turns)
        for talk in run.transcripts()
    ]
    other = bedside.score(renamed, tmp_path / "other", metrics=["turns"]).run
    assert bedside.rate(other, file) == tables.results.rater
    other = Run(other.path)
    values = [of_rater(each, "algorithm:learned")["value"].to_list() for each in (other, run)]
    assert values[0] == values[1]
    digests = learnt_in(other.manifest)[0].digests
    known = [bool(set(unit_digests([(talk.id, talk.case_id)])) & digests) for talk in renamed]
    assert sum(known) == 24


def test_a_file_says_the_same_again_and_damage_is_told(learned: tuple[Run, Path, Any], tmp_path: Path) -> None:
    _, file, _ = learned
    rater = load_rater(file)
    save_rater(rater, tmp_path / "again.npz")
    assert (tmp_path / "again.npz").read_bytes() == file.read_bytes()
    whole = file.read_bytes()
    (tmp_path / "cut.npz").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "text.npz").write_text("no archive")
    for name in ("cut.npz", "text.npz", "absent.npz"):
        with pytest.raises(InputError, match=name):
            load_rater(tmp_path / name)
    with pytest.raises(InputError):  # a coder's file is another thing
        load_card(file)
    with pytest.raises(InputError, match=r"\.npz"):
        save_rater(rater, tmp_path / "rater.pkl")


def test_other_languages_and_silence_are_missing(learned: tuple[Run, Path, Any]) -> None:
    rater = load_rater(learned[1])
    german = bedside.Transcript(id="g", turns=talks(["Wie geht es?"])[0].turns, language="de")
    (row,) = rater.ratings(german)
    assert row[-1] == "learnt from en; the transcript is de"
    turn = bedside.Turn(0, "clinician", "clinician", " ")
    (row,) = rater.ratings(bedside.Transcript(id="s", turns=(turn,)))
    assert row[-1] == "the transcript has no turn with a word in it"


def test_too_few_labels_are_refused_in_a_line(tmp_path: Path) -> None:
    run = rated_run(tmp_path / "run", 8, {"human:anna": [1, 2, 3, 4, 5, 1, 2, 3]})
    for split in (0.5, 1):
        with pytest.raises(DataError, match="8 units of 8 cases by empathy"):
            bedside.learn_rater(run, "empathy", tmp_path / "r.npz", split=split)
    assert not (tmp_path / "r.npz").exists()
    with pytest.raises(InputError, match="`features`"):
        bedside.learn_rater(run, "empathy", tmp_path / "r.npz", features="magic")


def flat(rows: np.ndarray[Any, Any]) -> UnitFeatures:
    """Features that are vectors alone."""
    return UnitFeatures(csr_matrix((len(rows), GRAM_COLUMNS)), np.zeros((len(rows), 1)), rows)


def fitted(features: UnitFeatures, targets: np.ndarray[Any, Any], *, ordered: bool) -> tuple[LevelModel, float]:
    """A model where every unit is a case of its own."""
    return fit_level_model(features, targets, [str(unit) for unit in range(len(targets))], ordered=ordered)


def test_its_model_of_levels_is_the_proportional_odds_model() -> None:
    """Beside statsmodels' OrderedModel: that maximises one likelihood, ours the sum of those of all thresholds."""
    from statsmodels.miscmodels.ordinal_model import OrderedModel

    random = np.random.default_rng(0)
    rows = random.normal(0, 1, (400, 2))
    score = rows @ np.array([1.5, -0.8]) + random.logistic(0, 1, 400)
    answers = np.digitize(score, [-1.5, 0.0, 1.5])
    features = flat(rows)
    scale = FeatureScale.of(features)
    space = level_model._Space.of(features, scale)
    directions, thresholds = level_model._fitted(space.rows, np.eye(4)[answers], 1e4, True)
    own = space.rows @ directions[:, 0]
    oracle = OrderedModel(answers, rows, distr="logit").fit(method="bfgs", disp=False)
    theirs = rows @ oracle.params[:2]
    assert np.corrcoef(own, theirs)[0, 1] > 0.9995
    assert own.std() == pytest.approx(theirs.std(), rel=0.05)
    np.testing.assert_allclose(
        np.diff(thresholds), np.diff(oracle.model.transform_threshold_params(oracle.params)[1:-1]), rtol=0.06
    )


def test_two_levels_are_ridge_logistic_regression() -> None:
    random = np.random.default_rng(1)
    rows = random.normal(0, 1, (60, 5))
    answers = (rows[:, 0] + random.normal(0, 1, 60) > 0).astype(int)
    features = flat(rows)
    model, strength = fitted(features, np.eye(2)[answers], ordered=True)
    dense = FeatureScale.of(features).dense(features)
    oracle = LogisticRegression(C=strength, tol=1e-8, max_iter=10_000).fit(dense, answers)
    np.testing.assert_allclose(model.probabilities(features)[:, 1], oracle.predict_proba(dense)[:, 1], atol=0.02)
    np.testing.assert_allclose(model.dense[1:, 0], oracle.coef_[0][1:], atol=0.05)
    assert level_model.STRENGTHS[0] <= strength <= level_model.STRENGTHS[-1]


def test_labels_are_learnt_as_scikit_learn_learns_them() -> None:
    random = np.random.default_rng(2)
    rows = random.normal(0, 1, (90, 4))
    answers = (rows[:, :3] + random.normal(0, 0.5, (90, 3))).argmax(axis=1)
    features = flat(rows)
    model, strength = fitted(features, np.eye(3)[answers], ordered=False)
    dense = FeatureScale.of(features).dense(features)
    oracle = LogisticRegression(C=strength, tol=1e-8, max_iter=10_000).fit(dense, answers)
    np.testing.assert_allclose(model.probabilities(features), oracle.predict_proba(dense), atol=0.01)
    assert (model.choices(features) == oracle.predict(dense)).mean() > 0.98


def test_levels_are_given_as_often_as_people_give_them() -> None:
    random = np.random.default_rng(3)
    rows = random.normal(0, 1, (200, 3))
    answers = np.digitize(rows[:, 0] + random.normal(0, 2, 200), [-2, -1, 1, 2])
    targets = np.eye(5)[answers]
    model, _ = fitted(flat(rows), targets, ordered=True)
    fresh = flat(random.normal(0, 1, (4000, 3)))
    shares = np.bincount(model.choices(fresh), minlength=5) / 4000
    np.testing.assert_allclose(shares, targets.mean(axis=0), atol=0.08)
    np.testing.assert_allclose(model.probabilities(fresh).sum(axis=1), 1)


def test_features_of_turns_are_of_the_turn(tmp_path: Path) -> None:
    (talk,) = talks(["How do you feel today?"])
    whole = unit_features(talk, ["transcript"], grams=True, embeddings=None)
    turns = unit_features(talk, ["turn:0", "turn:1"], grams=True, embeddings=None)
    assert (whole.grams.shape[0], turns.grams.shape[0]) == (1, 2)
    lengths = np.sqrt(np.asarray(turns.grams.multiply(turns.grams).sum(axis=1)).ravel())
    np.testing.assert_allclose(lengths, 1)
    none = unit_features(talk, ["transcript"], grams=False, embeddings=None)
    assert none.grams.nnz == 0


@pytest.mark.slow
def test_the_command_learns_and_score_uses_the_file(call: Call, tmp_path: Path) -> None:
    study(tmp_path / "run")
    out, _ = works(call, "judge", "learn", "run", "--rubric", "empathy", "--out", "e.npz")
    assert "The cheap baseline" in out
    talk = tmp_path / "talk.txt"
    talk.write_text("Clinician: You feel sad, and it is hard.\nPatient: Yes, I feel so.\n")
    works(call, "score", "talk.txt", "--metrics", "turns", "--out", "new", "--rater", "e.npz")
    assert of_rater(Run(tmp_path / "new"), "algorithm:learned").height == 1
    code, _, _ = call("score", "talk.txt", "--out", "newer", "--rater", "talk.txt")
    assert code == 2
    assert not (tmp_path / "newer").exists()


@pytest.mark.slow
def test_out_of_fold_every_label_counts(tmp_path: Path) -> None:
    run = study(tmp_path / "run")
    trial: Any = bedside.learn_rater(run, "empathy", tmp_path / "e.npz", split=1).results
    assert trial.out_of_fold
    assert trial.mean.units == 48
    assert [gain.units for gain in trial.gains] == [48, 48]
    with pytest.raises(BedsideError):
        bedside.validate(run, judges="algorithm:learned-*")


@pytest.mark.slow
def test_annomi_s_quality_is_told_from_words_as_well_as_another_model_tells_it(annomi: Path, tmp_path: Path) -> None:
    """Half of AnnoMI's sessions, high or low by experts: TF-IDF and logistic regression stand beside it."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.metrics import cohen_kappa_score
    from sklearn.pipeline import make_pipeline

    run = bedside.score(annomi, tmp_path / "run", metrics=["turns"]).run
    gold = dict(run.factors.select("transcript_id", "mi_quality").iter_rows())
    rows = [(name, None, None, "transcript", "quality", "human:expert", 0, None, label, None, None)
            for name, label in gold.items()]  # fmt: skip
    with run.locked():
        run.add(frame_of(rows).lazy(), run.manifest)
    trial: Any = bedside.learn_rater(run, "quality", tmp_path / "q.npz", scales="quality=low<high").results
    kappa = trial.mean.statistics["kappa"]
    learnt = learnt_in(Run(run.path).manifest)[0].digests
    said_of = {
        talk.id: " ".join(f"{turn.role}_{word}" for turn in talk.turns for word in turn.text.lower().split())
        for talk in run.transcripts()
    }
    training = [name for name in said_of if set(unit_digests([(name, None)])) & learnt]
    held_out = [name for name in said_of if name not in training]
    assert len(held_out) == trial.mean.units
    model = make_pipeline(TfidfVectorizer(token_pattern=r"\S+", sublinear_tf=True), LogisticRegression(C=10))
    model.fit([said_of[name] for name in training], [gold[name] for name in training])
    low = list(model.classes_).index("low")
    chances = model.predict_proba([said_of[name] for name in held_out])[:, low]
    share = np.mean([gold[name] == "low" for name in training])
    chosen = np.where(chances > np.quantile(chances, 1 - share), "low", "high")
    other = cohen_kappa_score([gold[name] for name in held_out], chosen)
    assert kappa.estimate > 0.2
    assert abs(kappa.estimate - other) < 0.3


@pytest.mark.slow
@pytest.mark.soak
def test_where_labels_are_noise_nothing_is_learnt_in_nineteen_of_twenty(tmp_path: Path) -> None:
    random = np.random.default_rng(11)
    runs, won = budget(4, 200), 0
    for number in range(runs):
        size = 48
        ratings = {f"human:{name}": random.integers(1, 6, size).astype(float) for name in ("anna", "ben")}
        texts = said(random, random.normal(3, 1, size))
        run = rated_run(tmp_path / f"run{number}", size, ratings, per_case=2, texts=texts)
        taught = teach_rater(open_ratings_view(run), "empathy", share=0.5, seed=number)
        with run.locked():
            add_learned_ratings(run, taught.rater, kept_transcripts(run))
        kappa = try_rater(open_ratings_view(run), taught.rater).mean.statistics["kappa"]  # type: ignore[union-attr]
        won += kappa.interval is not None and kappa.interval.low > 0
    # One side of a 95 % interval: 2.5 of 100.
    assert won <= max(1, 0.05 * runs)


def test_the_consensus_between_two_levels_counts_half_for_each(tmp_path: Path) -> None:
    run = rated_run(tmp_path / "run", 2, {"human:anna": [3, 5], "human:ben": [4, 5]})
    units, _, _ = labelled_units(open_ratings_view(run), "empathy")
    np.testing.assert_array_equal(_targets(units, LEVELS), [[0, 0, 0.5, 0.5, 0], [0, 0, 0, 0, 1]])


@pytest.mark.model
@pytest.mark.slow
def test_embeddings_belong_to_the_rater(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    import torch

    folder = tmp_path / "models" / "tiny-encoder"
    folder.mkdir(parents=True)
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *_LOW, *_HIGH, "see"]
    (folder / "vocab.txt").write_text("\n".join(vocabulary), "utf-8")
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(vocabulary), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16
    )  # fmt: skip
    transformers.BertModel(config).eval().save_pretrained(folder)
    transformers.BertTokenizerFast(vocab=str(folder / "vocab.txt")).save_pretrained(folder)
    run = study(tmp_path / "run")
    file = tmp_path / "deep.npz"
    trial: Any = bedside.learn_rater(run, "empathy", file, features=f"embeddings:{folder}").results
    # Random weights, but words of two kinds: their mean vectors still tell them apart.
    assert trial.mean.statistics["kappa"].estimate > 0.3
    rater = load_rater(file, folder)
    assert rater.card["features"]["embeddings"]["dimensions"] == 16
    assert not rater.card["features"]["grams"]
    own = dict(of_rater(Run(run.path), rater.rater).select("transcript_id", "value").iter_rows())
    for talk in list(run.transcripts())[:3]:
        assert next(rater.ratings(talk))[7] == own[talk.id]
    with pytest.raises(InputError, match="needs the embedding model tiny-encoder"):
        load_rater(file)

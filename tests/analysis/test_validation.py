"""Judges beside people, and corrected estimates: wiring against values taken straight from the numbers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import krippendorff
import numpy as np
import polars as pl
import pytest
import scipy.stats

import bedside
from bedside.analysis.ratings_view import RatingsView, open_ratings_view
from bedside.analysis.validation import validate
from bedside.core.errors import DataError
from bedside.ratings.scales import parse_scales
from bedside.ratings.table import frame_of
from bedside.reports.validation import validation_tables
from bedside.scoring.score import score
from bedside.stats.alternative_annotator import alternative_annotator
from tests.analysis.builders import definite
from tests.annotation.study import JUDGE, new_study

EXAMPLES = Path(bedside.__file__).parent / "examples"


class Study:
    """Two systems, sixty cases each; a judge with three passes on all, three people on every third case."""

    def __init__(self, folder: Path) -> None:
        rng = np.random.default_rng(5)
        self.truth = {
            s: np.clip(np.round(3 + shift + rng.normal(0, 1, 60)), 1, 5)
            for s, shift in (("A", 0), ("B", 0.7))
        }

        def noisy(values: np.ndarray, sd: float, bias: float = 0.0) -> np.ndarray:
            return np.clip(np.round(values + bias + rng.normal(0, sd, values.shape)), 1, 5)

        self.judge = {s: np.stack([noisy(t, 0.6, 0.4) for _ in range(3)]) for s, t in self.truth.items()}
        self.people = {s: np.stack([noisy(t, 0.5) for _ in range(3)]) for s, t in self.truth.items()}
        self.safe = {s: (t > 3).astype(float) for s, t in self.truth.items()}
        self.unsafe_judge = {s: np.where(rng.random(60) < 0.9, v, 1 - v) for s, v in self.safe.items()}
        self.rated = np.arange(0, 60, 3)
        rows = []
        for s in "AB":
            for i in range(60):
                rows += [(f"{s}{i}", s, i, "judge:m", "empathy", self.judge[s][p, i], p) for p in range(3)]
                rows.append((f"{s}{i}", s, i, "judge:m", "safe", self.unsafe_judge[s][i], 0))
            for i in self.rated:
                names = ("anna", "ben", "cleo")
                rows += [
                    (f"{s}{i}", s, i, who, "empathy", self.people[s][k, i], 0) for k, who in enumerate(names)
                ]
                rows.append((f"{s}{i}", s, i, "anna", "safe", self.safe[s][i], 0))
        names = ["item", "system", "case", "rater", "metric", "value", "replicate"]
        pl.DataFrame([tuple(map(str, row)) for row in rows], schema=names, orient="row").write_parquet(
            folder / "study.parquet"
        )
        self.view = open_ratings_view(
            folder / "study.parquet", scales=parse_scales(["empathy=1-5", "safe=0,1"])
        )


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    return Study(tmp_path_factory.mktemp("study"))


def mode(passes: np.ndarray) -> np.ndarray:
    """Most frequent of each column's passes, of several the one nearest their mean, then the first given."""
    found = []
    for column in passes.T:
        values, counts = np.unique(column, return_counts=True)
        top = values[counts == counts.max()]
        near = top[np.isclose(abs(top - column.mean()), abs(top - column.mean()).min())]
        found.append(next(value for value in column if value in near))
    return np.array(found)


def test_a_judge_is_checked_as_the_numbers_say(study: Study) -> None:
    card = validate(study.view, metrics=["empathy"])[0]
    found = card.validations[0]
    people = np.concatenate([study.people[s][:, study.rated] for s in "AB"], axis=1)
    judge = np.concatenate([mode(study.judge[s])[study.rated] for s in "AB"])
    assert (found.rated, found.with_people, found.passes, found.failures) == (120, 40, 3, 0)
    assert (found.cases, found.chances, found.picked) == (20, "unknown", 0), (
        "both systems have the same cases"
    )
    expected = alternative_annotator(
        judge, people.T, epsilon=0.2, score="distance", clusters=np.tile(study.rated, 2)
    )
    assert definite(found.alternative).winning_rate == expected.winning_rate
    assert definite(found.alternative).advantage == pytest.approx(expected.advantage)
    by_rater = {rater.method: rater.p for rater in definite(found.alternative).raters}
    assert by_rater == pytest.approx({rater.method: rater.p for rater in expected.raters})
    difference = judge - people.mean(axis=0)
    assert definite(found.bias).estimate == pytest.approx(difference.mean())
    assert definite(found.limits).details["upper limit"] == pytest.approx(
        difference.mean() + 1.96 * difference.std(ddof=1)
    )
    passes = np.concatenate([study.judge[s] for s in "AB"], axis=1)
    alpha = krippendorff.alpha(passes, level_of_measurement="ordinal", value_domain=[1, 2, 3, 4, 5])
    assert definite(found.self_agreement).estimate == pytest.approx(alpha, abs=1e-12)
    assert found.length is None, "a plain file has no lengths"


def test_the_verdict_follows_the_test_and_the_number_of_units(study: Study) -> None:
    by_metric = {one.metric: one for one in validate(study.view, epsilon=0.2)[0].validations}
    empathy = by_metric["empathy"]
    assert definite(empathy.alternative).replaceable
    assert empathy.verdict == "not shown: it never gives 1, which people gave to 10 units"
    lowest = (pl.col("metric") == "empathy") & (pl.col("value") == 1)
    joined = study.view.ratings.with_columns(pl.when(lowest).then(2.0).otherwise("value").alias("value"))
    rest = validate(replace(study.view, ratings=joined), metrics=["empathy"])[0].validations[0]
    assert (rest.stands_in, rest.verdict) == (True, "may stand in for one of these people")
    assert by_metric["safe"].verdict == "can't be said: fewer than two people rated"


def test_few_units_give_no_verdict(tmp_path: Path) -> None:
    path = tmp_path / "few.csv"
    path.write_text(
        "item,a,b,judge:m\n" + "".join(f"i{n},{n % 5 + 1},{n % 5 + 1},{n % 5 + 1}\n" for n in range(12))
    )
    found = validate(open_ratings_view(path, scales=parse_scales(["1-5"])))[0].validations[0]
    assert found.verdict.startswith("can't be said")


def test_a_coder_in_a_run_has_a_card(tmp_path: Path) -> None:
    score([EXAMPLES / "transcripts.jsonl"], tmp_path / "run", metrics=["question"])
    card = validate(open_ratings_view(tmp_path / "run"))[0]
    facts = dict(card.facts)
    assert facts["Rater"].startswith("algorithm:rules@")
    assert facts["bedside"] == bedside.__version__
    assert facts["Checked against people"] == "132 ratings (100 % of those given)"
    assert card.validations[0].mean is not None


def test_a_judge_asked_one_rubric_a_day_has_each_on_its_card(tmp_path: Path) -> None:
    """Of each rubric the last time counts; what was asked then and rated by no person stands on no card."""
    run = new_study(tmp_path)
    rows = [
        (*cells, "transcript", metric, "human:anna", 0, float(1 + place % 5), None, None, None)
        for place, cells in enumerate(run.index.select("id", "system", "case_id").iter_rows())
        for metric in ("empathy", "goal_alignment")
    ]
    asked = (
        ("2026-01-01", 0.0, {"empathy": "e1", "goal_alignment": "g1"}),
        ("2026-01-02", 0.5, {"goal_alignment": "g2"}),
        ("2026-01-03", 0.5, {"empathy": "e3"}),
        ("2026-01-04", 1.0, {"partnership": "p4"}),
    )
    scorings = [
        {**run.manifest["scorings"][0], "date": date, "raters": [JUDGE],
         "judges": {JUDGE: {"model": "model", "temperature": temperature, "prompts": prompts}}}
        for date, temperature, prompts in asked
    ]  # fmt: skip
    with run.locked():
        run.add(frame_of(rows).lazy(), {**run.manifest, "scorings": [*run.manifest["scorings"], *scorings]})
    facts = dict(validate(open_ratings_view(run.path))[0].facts)
    assert facts["Rubric versions"] == "empathy e3, goal_alignment g2"
    assert facts["Date"] == "2026-01-02, 2026-01-03"
    assert facts["Temperature"] == "0.5"
    assert facts["Model"] == "model"


def test_judges_that_favour_length_are_seen(tmp_path: Path) -> None:
    run = score([EXAMPLES / "transcripts.jsonl"], tmp_path / "run", metrics=["turns"]).run
    turns = dict(run.index.select("id", "turns").iter_rows())
    from bedside.ratings.rating_files import import_ratings, read_rating_file

    rows = ["item,rater,value"]
    rows += [f"{name},anna,3\n{name},ben,3\n{name},judge:m,{1 + n / 10:g}" for name, n in turns.items()]
    path = tmp_path / "r.csv"
    path.write_text("\n".join(rows) + "\n")
    import_ratings(run, path, read_rating_file(path))
    found = validate(open_ratings_view(run.path), metrics=["rating"])[0].validations[0]
    expected = scipy.stats.spearmanr(list(turns.values()), [n / 10 for n in turns.values()]).statistic
    assert definite(found.length).estimate == pytest.approx(expected)


def test_what_cannot_be_done_says_so(study: Study) -> None:
    with pytest.raises(DataError, match="must be at least 0 and below 1"):
        validate(study.view, epsilon=2)
    alone = RatingsView(study.view.ratings.filter(rater="judge:m"), {}, None, "x")
    with pytest.raises(DataError):
        validate(alone)


def test_tables_hold_every_figure(study: Study) -> None:
    card, found, bias, accuracy = validation_tables(validate(study.view))
    assert [row.group for row in accuracy.rows] == ["Safe: 1"]
    assert {row.cells[0].text: row.cells[1].text for row in card.rows}["Passes"] == "3"
    assert [row.cells[0].text for row in bias.rows] == ["Empathy", "Safe"]
    assert {record["metric"] for record in found.records} == {"empathy", "safe"}
    record = next(record for record in found.records if record["metric"] == "empathy")
    assert record["kappa_low"] < record["kappa"] < record["kappa_high"]
    assert record["omega"] is not None
    assert record["prevalence"].count(";") == 4

"""Final labels by adjudication: what takes them in place of what people said, and what must not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from bedside.analysis.agreement import agree
from bedside.analysis.checked_units import checked_units
from bedside.analysis.estimation import estimate
from bedside.analysis.judge_accuracy import level_accuracy
from bedside.analysis.rater_effects import rater_severities
from bedside.analysis.ratings_view import PEOPLE, RatingsView, open_ratings_view
from bedside.ratings.rubric_metrics import adjudicated_metric, final_labels, is_final
from bedside.ratings.scales import Scale
from bedside.reports.build import build_tables
from bedside.reports.explanation import explain
from bedside.reports.renderers.markdown import markdown
from bedside.reports.tables.agreement import agreement_table
from bedside.tuning.label_split import labelled_units
from tests.analysis.builders import definite
from tests.analysis.ratings_rows import Row, view
from tests.soak import budget

JUDGE = "judge:invented/model"


def adjudicated_view(rows: list[Row], levels: tuple[float, ...] = (1.0, 2.0, 3.0, 4.0, 5.0)) -> RatingsView:
    whole = view(rows)
    final = final_labels(whole.ratings, whole.name)
    kept = whole.ratings.filter(~is_final())
    return replace(whole, ratings=kept, final=final, scales={"empathy": Scale(levels, True)})


def row(name: str, rater: str, value: float | None, metric: str = "empathy") -> Row:
    return name, "a", name, metric, rater, value


def drawn_study(rng: np.random.Generator, adjudicated: bool) -> RatingsView:
    """200 transcripts of one system that a judge rated, 60 of them two people, who are milder than the truth."""
    rows = []
    truths = rng.normal(3, 1, 200)
    rated = set(rng.permutation(200)[:60].tolist())
    for number, truth in enumerate(truths):
        name = f"t{number:03}"
        rows.append(row(name, JUDGE, level(truth + rng.normal(0.5, 0.7))))
        if number in rated:
            both = [level(truth + 0.4 + rng.normal(0, 0.6)) for _ in range(2)]
            rows += [row(name, f"human:{who}", said) for who, said in zip("xy", both, strict=True)]
            if adjudicated and both[0] != both[1]:
                rows.append(row(name, "human:z", level(truth), adjudicated_metric("empathy")))
    return adjudicated_view(rows)


def level(latent: float) -> float:
    return float(np.clip(np.round(latent), 1, 5))


def settled_mean() -> float:
    """What people say of a transcript in the long run, where what they differ on is settled by the truth."""
    rng = np.random.default_rng(0)
    truths = rng.normal(3, 1, 400_000)
    first, second = (
        np.clip(np.round(truths + 0.4 + rng.normal(0, 0.6, truths.size)), 1, 5) for _ in range(2)
    )
    return float(np.where(first == second, first, np.clip(np.round(truths), 1, 5)).mean())


@pytest.mark.soak
@pytest.mark.slow
def test_corrected_means_cover_what_people_say_when_it_is_settled() -> None:
    truth, studies = settled_mean(), budget(60, 1000)
    rng = np.random.default_rng(5)
    covered, of_originals = 0, 0
    for _ in range(studies):
        both = []
        state = rng.bit_generator.state
        for adjudicated in (True, False):
            rng.bit_generator.state = state
            (result,) = estimate(drawn_study(rng, adjudicated), judge=JUDGE)
            interval = definite(result.corrected.interval)
            both.append(interval.low <= truth <= interval.high)
        covered += both[0]
        of_originals += both[1]
    assert covered / studies >= 0.95 - 3.1 * np.sqrt(0.05 * 0.95 / studies)
    # The raters' own mean is about something else, as they are mild.
    assert of_originals / studies < 0.9


def small_view() -> RatingsView:
    rows = []
    levels = {"p": (1, 1, 2), "q": (2, 4, 4), "r": (3, 3, 3), "s": (5, 1, 1), "t": (4, 4, 5)}
    for name, (x, y, judged) in levels.items():
        rows += [row(name, "human:x", x), row(name, "human:y", y), row(name, JUDGE, judged)]
    rows += [
        row("q", "human:z", 4.0, "empathy.adjudicated"),
        row("s", "human:z", 2.0, "empathy.adjudicated"),
        row("t", "human:z", None, "empathy.adjudicated"),
    ]
    return adjudicated_view(rows)


def test_people_s_value_is_the_final_label_where_there_is_one() -> None:
    study = small_view()
    values = study.transcript_values(["empathy"]).filter(pl.col("group") == PEOPLE)
    assert dict(values.select("transcript_id", "value").iter_rows()) == {
        "p": 1,
        "q": 4,
        "r": 3,
        "s": 2,
        "t": 4,
    }
    originals = replace(study, final=study.final.clear())
    values = originals.transcript_values(["empathy"]).filter(pl.col("group") == PEOPLE)
    assert dict(values.select("transcript_id", "value").iter_rows()) == {
        "p": 1,
        "q": 3,
        "r": 3,
        "s": 3,
        "t": 4,
    }


def test_the_reference_is_one_vote_and_the_people_stay() -> None:
    study = small_view()
    units = checked_units(study.ratings, JUDGE, 0, study.final_labels("empathy"))
    assert units.adjudicated == 2
    assert units.people.tolist() == [[1, 1], [2, 4], [3, 3], [5, 1], [4, 4]]
    assert units.reference.tolist() == [[1, 1], [4, None], [3, 3], [2, None], [4, 4]]
    assert units.people_numbers().tolist() == [1, 4, 3, 2, 4]
    # Of the units that are 4 (the final label of q, and t), the judge says so of q alone.
    accuracy = level_accuracy(units, 4.0)
    assert accuracy.judge.sensitivity.estimate == pytest.approx(1 / 2)
    assert accuracy.judge.specificity.estimate == pytest.approx(1)
    without = level_accuracy(checked_units(study.ratings, JUDGE, 0), 4.0)
    # Two votes of t, one of the two of q.
    assert without.judge.sensitivity.estimate == pytest.approx(0.5 / 1.5)
    assert accuracy.people == without.people


def test_what_is_learnt_from_is_the_final_label_and_severity_is_of_the_originals() -> None:
    study = small_view()
    units, _, _ = labelled_units(study, "empathy")
    assert {unit.transcript: unit.consensus for unit in units} == {"p": 1, "q": 4, "r": 3, "s": 2, "t": 4}
    assert all(set(unit.ratings) == {"human:x", "human:y"} for unit in units)
    raters = {severity.rater for severity in rater_severities(study, ["empathy"])}
    assert raters == {"human:x", "human:y"}


def test_tables_say_how_many_units_were_adjudicated() -> None:
    study = small_view()
    words = markdown(agreement_table(agree(study)))
    assert "final label of an adjudicator where there is one (Empathy 2 units)" in words
    (table,) = build_tables(study, ["results"])
    (cell,) = {str(record["cell"]) for record in table.records if record.get("raters") == PEOPLE}
    assert "Empathy: 2 units were adjudicated" in markdown(table)
    explained = explain(study, table, cell)
    text = "\n".join(map(markdown, explained.tables))
    assert "Empathy: 2 units were adjudicated" in text
    assert "empathy.adjudicated" in text


def test_labels_of_a_plain_file_are_final_too(tmp_path: Path) -> None:
    path = tmp_path / "ratings.csv"
    lines = ["transcript_id,unit,metric,rater,value"]
    lines += [f"t{number},transcript,empathy,human:x,{1 + number % 5}" for number in range(6)]
    lines += [f"t{number},transcript,empathy,human:y,{1 + (number + 1) % 5}" for number in range(6)]
    lines += ["t0,transcript,empathy.adjudicated,human:z,2"]
    path.write_text("\n".join(lines) + "\n", "utf-8")
    study = open_ratings_view(path)
    assert study.final_labels("empathy") == {("t0", "transcript"): 2.0}
    assert study.raters() == ["human:x", "human:y"]
    assert study.raters(["human:z"]) == ["human:z"]
    assert study.metrics() == ["empathy"]

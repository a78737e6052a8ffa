"""Tables of preferences: what they say and average over, the card, report and command; they are in no other table."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

import bedside
from bedside.analysis.ratings_view import RatingsView
from bedside.analysis.validation import validate
from bedside.judges.rubrics.rubric_files import RUBRICS
from bedside.ratings.learnt_units import LearntUnits, unit_digests, with_learnt
from bedside.ratings.run import Run
from bedside.ratings.table import frame_of
from bedside.reports.contents import make_drawing, make_parts
from bedside.reports.figures import FIGURES
from bedside.reports.preference_tables import preference_tables
from bedside.reports.renderers.markdown import markdown
from bedside.reports.tables import TABLES
from bedside.reports.validation import validation_tables
from bedside.scoring.judging_orders import JudgingWork
from bedside.scoring.run_judging import judge_run
from bedside.scoring.transcript_pairs import paired_transcripts
from tests.analysis.preference_study import Chooser, PreferenceStudy, simulated_study
from tests.conftest import Call, works
from tests.judges.simulated_judge import SimulatedJudge, simulated_talks, true_qualities
from tests.reports.builders import full_table, rating, scored, with_rows

NAMES = ("strengths", "win_rates", "position_bias", "preference_agreement", "preference_levels")
RATERS = (
    Chooser("judge:m", 0.6, passes=2),
    Chooser("human:anna", both_orders=False),
    Chooser("human:ben", both_orders=False),
)


@pytest.fixture(scope="module")
def view() -> RatingsView:
    return simulated_study({"A": 0.9, "B": 0.2, "C": -0.9}, RATERS, cases=16, seed=2).view()


@pytest.mark.slow
def test_there_is_nothing_where_nothing_was_compared(view: RatingsView) -> None:
    without = replace(view, preferences=view.preferences.clear())
    assert all(TABLES.load(name).make(without) is None for name in NAMES)
    names = {table.name for part in make_parts(without, figures=False) for table in part.tables}
    assert not names & set(NAMES)


def test_strengths_say_what_they_are(view: RatingsView) -> None:
    table = full_table("strengths", view)
    assert [record["system"] for record in table.records if record["raters"] == "judge:m"] == ["A", "B", "C"]
    assert [group for group, _ in table.groups()] == ["Empathy (people)", "Empathy (m)"]
    for part in ("Letters:", "The place has a term of its own", "People: anna, ben"):
        assert part in markdown(table)
    for record in table.records:
        assert record["strength_low"] < record["strength"] < record["strength_high"]
        assert 0 <= record["wins_low"] <= record["wins"] <= record["wins_high"] <= 1


def test_a_system_that_won_everything_stands_first_with_the_reason(view: RatingsView) -> None:
    always = view.preferences.with_columns(
        pl.when(pl.col("system") == "A").then(1.0)
        .when(pl.col("unit").str.contains("pair:A")).then(0.0)
        .otherwise("value").alias("value")
    )  # fmt: skip
    won = replace(view, preferences=always.filter(pl.col("rater") == "judge:m"))
    table = full_table("strengths", won)
    assert [cell.text for cell in table.rows[0].cells][:3] == ["A", "–", "–"]
    assert "A won every comparison" in markdown(table)
    assert "B, C among themselves" in markdown(table)
    pairs = full_table("win_rates", won)
    (first,) = [record for record in pairs.records if (record["a"], record["b"]) == ("A", "B")]
    assert (first["wins"], first["better"], first["depends_on_order"]) == (1.0, 16, 0)
    assert first["wins_low"] > 0.7
    assert first["p_corrected"] < 0.01


def test_the_place_and_agreement_are_told(view: RatingsView) -> None:
    place = {record["raters"]: record for record in full_table("position_bias", view).records}
    assert place["judge:m"]["both_orders"] == 2 * 3 * 16
    assert place["people"]["both_orders"] == 0
    assert "only if chance chose which one stood first" in markdown(full_table("position_bias", view))
    agreement = full_table("preference_agreement", view)
    assert [row.cells[0].text for row in agreement.rows] == ["people among themselves", "m and people"]
    assert "People among themselves are the figure to set the others against." in markdown(agreement)
    alone = replace(view, preferences=view.preferences.filter(pl.col("rater") != "human:ben"))
    assert "isn't known" in markdown(full_table("preference_agreement", alone))


def test_settings_that_are_averaged_over_are_noted(view: RatingsView) -> None:
    study = PreferenceStudy()
    names = []
    for case in range(6):
        for setting in ("short", "long"):
            a, b = f"a{case}{setting}", f"b{case}{setting}"
            names += [a, b]
            study.prefer((a, "a", f"c{case}"), b, "judge:m", float(case > 0))
            study.prefer((b, "b", f"c{case}"), a, "judge:m", float(setting == "long"))
    factors = pl.DataFrame({"transcript_id": names, "setting": [name[2:] for name in names]})
    for name in ("strengths", "win_rates"):
        text = markdown(full_table(name, replace(study.view(), factors=factors)))
        assert "Averaged over setting (long, short): --where setting=LEVEL shows one." in text
    tables = preference_tables(replace(study.view(), factors=factors).where({"setting": ["long"]}))
    assert "Averaged" not in str(tables)
    assert tables["win_rates"].records[0]["verdicts"] == 6


def test_a_judge_s_card_has_a_row_of_the_place_only_where_it_compared(view: RatingsView) -> None:
    (card,) = validate(view)
    text = markdown(validation_tables([card])[0])
    assert "| Position, Empathy | of two conversations the one shown first won" in text
    assert "the verdict was the same in both orders on" in text
    (without,) = validate(replace(view, preferences=view.preferences.clear()))
    assert "Position" not in markdown(validation_tables([without])[0])


@pytest.mark.slow
def test_the_figure_shows_each_block(view: RatingsView) -> None:
    drawing = make_drawing(view, "strengths")
    assert "even chance" in drawing.notes[0]
    assert drawing.svg().startswith("<svg")
    kind = FIGURES.load("strengths")
    assert kind.build(view, 0, kind.options.model_validate({"metrics": ["empathy"]})) is not None
    assert kind.build(view, 0, kind.options.model_validate({"metrics": ["safety"]})) is None


def test_from_python_names_choose(view: RatingsView) -> None:
    frame = pl.concat([view.ratings, view.preferences])
    tables = bedside.preferences(frame, rubrics="empathy", raters="judge:*", systems=["A", "C"])
    assert tables.names == ("strengths", "win_rates", "position_bias", "preference_levels")
    assert [own.raters for own in tables.results.systems] == ["judge:m"]
    assert tables.results.agreement == ()
    with pytest.raises(bedside.BedsideError, match="no two conversations were compared"):
        bedside.preferences(view.ratings)


@pytest.mark.slow
def test_cases_that_a_judge_learnt_from_say_nothing_of_its_agreement(tmp_path: Path) -> None:
    talks = simulated_talks({"A": 0.7, "B": 0.3}, cases=6, seed=3)
    run = scored(tmp_path, talks, ["structure"])
    study = PreferenceStudy()
    for case in range(6):
        for rater in ("human:x", "judge:m"):
            study.prefer((f"A-{case}-0", "A", f"case{case}"), f"B-{case}-0", rater, float(case > 1))
    digests = frozenset(unit_digests([("A-0-0", "case0"), ("B-0-0", "case0")]))
    learnt = with_learnt(run.manifest, LearntUnits("judge:m", "empathy", digests))
    with run.locked():
        run.add(frame_of(study.rows).lazy(), learnt)
    tables = bedside.preferences(run.path)
    (agreement,) = tables.results.agreement
    assert (agreement.pairs, agreement.learnt) == (5, 1)
    assert "1 preference left out, of cases whose ratings by people the rater learnt from" in str(tables)
    # What it prefers is no claim on its agreement: it counts.
    assert tables.results.systems[1].comparisons == 6


def test_rounds_of_people_are_named_where_there_are_several(view: RatingsView) -> None:
    frame = pl.concat([view.ratings, view.preferences])
    again = frame.filter(pl.col("rater") == "human:anna").with_columns(round=pl.lit("second"))
    twice = pl.concat([frame, again])
    with pytest.raises(bedside.BedsideError, match="`rounds=second`"):
        bedside.preferences(twice)
    for rounds, comparisons in (("second", 48), ("all", 96)):
        strengths = bedside.preferences(twice, rounds=rounds, raters="human:anna")["strengths"]
        assert strengths.records[0]["comparisons"] == comparisons


@pytest.mark.slow
def test_a_judge_with_a_taste_for_the_first_is_caught_and_systems_are_ranked_all_the_same(
    call: Call, tmp_path: Path
) -> None:
    """From the question through the store to the tables, the report and the command."""
    talks = simulated_talks({"A": 0.75, "B": 0.5, "C": 0.25}, cases=20, seed=3, talk_spread=0.1)
    run = scored(tmp_path, talks, ["structure"])
    judge = SimulatedJudge(true_qualities(talks), noise=0.15, position=0.2, tie=0.05, seed=1)
    work = JudgingWork((RUBRICS.load("empathy"),), pairs=paired_transcripts(run))
    judge_run(run, None, ADDRESS, work, client=judge.client)
    (shown,) = bedside.preferences(run.path).results.systems
    ranks = {system.system: system.ranks for system in shown.systems}
    assert ranks == {"A": (1, 1), "B": (2, 2), "C": (3, 3)}
    assert shown.position.first.interval is not None
    assert shown.position.first.interval.low > 0.5
    typed = ("compare", run.path, "--preferences", "--raters", "judge:*", "--json", "--out", run.path / "tables")
    out, _ = works(call, *typed)
    assert [table["table"] for table in json.loads(out)] == ["strengths", "win_rates", "position_bias", "findings"]
    assert (run.path / "tables" / "strengths.csv").is_file()
    code, _, err = call("compare", run.path, "--preferences", "--rubric", "safety")
    assert (code, "'safety'" in err) == (2, True)
    assert call("report", run.path)[0] == 0
    page = (run.path / "report" / "report.html").read_text()
    assert "which of two conversations on one case is better" in page
    assert "Preferences: how strong each system is" in page


ADDRESS = "http://127.0.0.1:1/v1#simulated"
TALKS = simulated_talks({"A": 0.9, "B": 0.5, "C": 0.1}, cases=6, seed=1)
APART = "36 preferences between two conversations are left to bedside compare --preferences."


def add_levels(run: Run) -> None:
    transcripts = enumerate(run.index.select("id", "system", "case_id").iter_rows())
    rows = [
        rating(name, system, case, "empathy", float(1 + (len(name) + place) % 5), rater)
        for place, (name, system, case) in transcripts
        for rater in ("human:anna", "human:ben", "judge:simulated")
    ]
    with_rows(run, rows, "pilot")


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = scored(tmp_path_factory.mktemp("compared"), TALKS, ["structure"])
    work = JudgingWork((RUBRICS.load("empathy"),), pairs=paired_transcripts(run))
    judge_run(run, None, ADDRESS, work, client=SimulatedJudge(true_qualities(TALKS)).client)
    return run.path


@pytest.fixture(scope="module")
def rated(compared: Path) -> Path:
    run = Run(shutil.copytree(compared, compared.parent / "rated"))
    add_levels(run)
    return run.path


@pytest.mark.slow
def test_numbers_are_those_without_preferences_and_the_tables_say_so(rated: Path, tmp_path: Path) -> None:
    plain = scored(tmp_path, TALKS, ["structure"])
    add_levels(plain)
    for question in (bedside.agree, bedside.compare):
        with_them, without = question(rated, seed=1), question(plain.path, seed=1)
        assert [table.records for table in with_them] == [table.records for table in without]
        assert APART in "\n".join(note for table in with_them for note in table.notes)
        assert APART not in str(without)
    validated, plainly = bedside.validate(rated, seed=1), bedside.validate(plain.path, seed=1)
    names = {table.name: table.records for table in plainly}
    differing = {table.name for table in validated if table.records != names[table.name]}
    # The card says how much the place counts in what the judge compared.
    assert differing == {"judge_card_1"}
    (results,) = bedside.tables(rated, "results")
    assert "preference" not in {str(record["metric"]) for record in results.records}
    assert APART in results.notes


@pytest.mark.parametrize("question", ["agree", "validate"])
def test_where_there_is_nothing_else_the_message_names_them(call: Call, compared: Path, question: str) -> None:
    code, _, err = call(question, compared)
    assert (code, "36 preferences" in err) == (2, True)


@pytest.mark.slow
def test_what_stands_behind_a_preference_is_shown(compared: Path) -> None:
    of_system = bedside.explain(compared, "empathy.preference/A", table="strengths")
    (ratings,) = (table for table in of_system.tables if table.name == "ratings")
    shown = {(record["transcript_id"], record["unit"]) for record in ratings.records}
    assert len(shown) == 24
    assert all(name.startswith("A") or unit.startswith("pair:A") for name, unit in shown)
    assert RUBRICS.load("empathy").definition in of_system.definitions[0]
    of_two = bedside.explain(compared, "empathy.preference/A/B", table="win_rates")
    (ratings,) = (table for table in of_two.tables if table.name == "ratings")
    pairs = {(record["transcript_id"][0], record["unit"][5]) for record in ratings.records}
    assert pairs == {("A", "B"), ("B", "A")}


def test_judgements_are_listed_by_either_conversation(call: Call, compared: Path) -> None:
    out, _ = works(call, "judge", "answers", "list", compared, "--transcript", "A-0-0")
    assert "4 judgements" in out
    key = next(line.split()[0] for line in out.splitlines() if "pair:A-0-0" in line)
    out, _ = works(call, "judge", "answers", "show", compared, key)
    assert "Unit: pair:A-0-0" in out
    assert out.index("first conversation begins") < out.index("second conversation begins")
    assert '"better":' in out

"""What an answer is about: rounds of annotation are never mixed unasked, and levels of factors are chosen by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import bedside
from bedside.analysis.agreement import agree
from bedside.analysis.ratings_view import RatingsView, open_ratings_view
from bedside.analysis.study_parts import averaged_factors, level_order
from bedside.ratings.run import Run
from bedside.ratings.study_design import conditions_of, kinds_of
from bedside.ratings.table import frame_of
from bedside.reports.build import build_tables
from bedside.reports.methods import methods
from bedside.scoring.score import score
from tests.conftest import Call, conversation

SETTINGS = ("8 turns", "16 turns")


def row(name: str, system: str, case: str, metric: str, rater: str, value: float) -> tuple[Any, ...]:
    return name, system, case, "transcript", metric, rater, 0, value, None, None, None


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Ten cases of two systems in two settings; people rated empathy in a pilot and a main round, safety in one."""
    talks = [
        conversation(
            ("clinician", "How are you?"), ("patient", "Well."), id=f"{system}-{case}-{setting[:2].strip()}",
            system=system, case_id=f"c{case}", language="en", factors={"setting": setting, "repeat": case % 2},
        )
        for system in ("a", "b") for case in range(10) for setting in SETTINGS
    ]  # fmt: skip
    (tmp_path / "talks.jsonl").write_bytes(b"".join(talk.to_json() + b"\n" for talk in talks))
    made = score([tmp_path / "talks.jsonl"], tmp_path / "run", metrics=["turns"]).run
    heads = [(talk.id, str(talk.system), str(talk.case_id)) for talk in talks]
    pilot = [row(*head, "empathy", rater, 1.0) for head in heads[:8] for rater in ("human:x", "human:y")]
    main = [
        row(*head, "empathy", rater, 1.0 + position % 3)
        for position, head in enumerate(heads)
        for rater in ("human:x", "human:y")
    ]
    safety = [row(*head, "safety", "human:x", 1.0) for head in heads]
    for rows, name in ((pilot, "pilot"), (main, "main"), (safety, "import")):
        made.add(frame_of(rows, name).lazy(), made.manifest)
    return Run(made.path)


def people(view: RatingsView, metric: str) -> int:
    return view.ratings.filter(pl.col("metric") == metric).height


def test_two_rounds_of_a_metric_are_never_mixed_unasked(run: Run) -> None:
    with pytest.raises(bedside.BedsideError) as error:
        open_ratings_view(run)
    assert "people rated empathy in 2 rounds: main, pilot" in str(error.value)
    assert "`rounds=pilot`" in str(error.value)
    assert "`rounds=all`" in str(error.value)
    view = open_ratings_view(run, rounds=["main"])
    assert (people(view, "empathy"), people(view, "safety"), people(view, "turns")) == (80, 0, 40)
    assert people(open_ratings_view(run, rounds=["pilot", "import"]), "empathy") == 16
    assert people(open_ratings_view(run, rounds=["pilot", "import"]), "safety") == 40
    with pytest.raises(bedside.BedsideError, match="there is no round 'pilto'; did you mean pilot"):
        open_ratings_view(run, rounds=["pilto"])


def test_all_rounds_are_repeated_ratings_and_that_is_said(run: Run) -> None:
    view = open_ratings_view(run, rounds=["all"])
    value = view.transcript_values(["empathy"]).filter(pl.col("transcript_id") == "a-0-16")["value"].item()
    # Both people gave 1 in the pilot and 2 in the main round.
    assert value == 1.5
    (row_of_people,) = [one for one in agree(view, metrics=["empathy"]) if one.kind == "people"]
    assert row_of_people.units == 40
    table = bedside.tables(run, "results", rounds="all")["results"]
    assert any("all rounds count" in note and "repeated ratings" in note for note in table.notes)
    main = bedside.tables(run, "results", rounds="main")["results"]
    assert "People's ratings are those of the round main." in main.notes


def test_one_persons_repeated_ratings_weigh_as_one_persons(tmp_path: Path) -> None:
    rows = [(*row("t", "a", "c", "empathy", "human:x", value)[:6], pass_, value, None, None, None)
            for pass_, value in enumerate((1.0, 1.0, 1.0))]  # fmt: skip
    rows.append(row("t", "a", "c", "empathy", "human:y", 5.0))
    view = RatingsView(frame_of(rows), {}, None, "ratings")
    assert view.transcript_values(["empathy"])["value"].item() == 3.0


def test_labels_of_no_round_stay_where_their_metric_has_no_other(run: Run) -> None:
    rows = [row("a-0-8", "a", "c0", metric, "human:x", 1.0) for metric in ("codes", "empathy")]
    run.add(frame_of(rows).lazy(), run.manifest)
    view = open_ratings_view(run.path, rounds=["main"])
    assert people(view, "codes") == 1
    assert people(view, "empathy") == 80
    assert people(open_ratings_view(run.path, rounds=[""]), "empathy") == 1


def test_files_and_data_frames_have_rounds(tmp_path: Path) -> None:
    file = tmp_path / "ratings.csv"
    file.write_text(
        "item,rater,metric,value,round\n1,ann,empathy,2,r1\n1,ann,empathy,4,r2\n1,ben,empathy,4,r2\n"
    )
    with pytest.raises(bedside.BedsideError, match="people rated empathy in 2 rounds: r1, r2"):
        bedside.agree(file, scales="1-5")
    assert open_ratings_view(file, rounds=["r1"]).ratings["value"].to_list() == [2.0]
    frame = pl.read_csv(file)
    assert open_ratings_view(frame, rounds=["r2"]).ratings["value"].to_list() == [4.0, 4.0]
    with pytest.raises(bedside.BedsideError, match="a plain file of ratings has no factors"):
        open_ratings_view(file, rounds=["r1"], where={"setting": ["8"]})


def test_transcripts_are_chosen_by_levels_of_factors(run: Run) -> None:
    view = open_ratings_view(run, rounds=["main"], where={"setting": ["8 turns"]})
    assert view.transcripts().height == 20
    assert set(view.ratings["transcript_id"]) == set(view.transcripts()["transcript_id"])
    both = open_ratings_view(run, rounds=["main"], where={"setting": list(SETTINGS), "repeat": ["0"]})
    assert both.transcripts().height == 20
    for where, words in (
        ({"settin": ["8 turns"]}, "'settin'; did you mean setting"),
        ({"setting": ["8 turn"]}, "no setting '8 turn'; did you mean 8 turns"),
    ):
        with pytest.raises(bedside.BedsideError, match=words):
            open_ratings_view(run, rounds=["main"], where=where)
    assert (
        "Only transcripts with setting 8 turns are looked at. People's ratings are those of the round main."
        in (methods(run, view))
    )


def test_factors_that_vary_within_a_system_and_case_are_averaged_over(run: Run) -> None:
    view = open_ratings_view(run, rounds=["main"])
    (setting,) = view.averaged_factors()
    assert (setting.name, setting.levels) == ("setting", SETTINGS)
    assert setting.by_system == {"a": SETTINGS, "b": SETTINGS}
    assert view.where({"setting": ["8 turns"]}).averaged_factors() == ()
    assert {level: part.transcripts().height for level, part in view.by_level("setting").items()} == {
        "8 turns": 20, "16 turns": 20,
    }  # fmt: skip


def condition_names(rated: pl.DataFrame, factors: pl.DataFrame) -> list[str]:
    """The conditions that an answer averages over."""
    placed = rated.join(factors, on="transcript_id")
    conditions = conditions_of(placed, kinds_of(factors, {}))
    return [factor.name for factor in averaged_factors(rated, factors, conditions)]


def test_what_names_transcripts_or_cases_is_no_condition() -> None:
    rated = pl.DataFrame(
        {"transcript_id": ["1", "2", "3", "4"], "system": ["a"] * 4, "case_id": ["x", "x", "y", "y"]}
    )
    factors = pl.DataFrame(
        {"transcript_id": ["1", "2", "3", "4"], "date": ["1", "2", "3", "4"], "persona": ["p", "p", "q", "q"],
         "temperature": [None, "1", "0", "1"], "repeat": ["0", "1", "0", "1"]}
    )  # fmt: skip
    assert condition_names(rated, factors) == ["temperature"]
    # Without cases, what varies within a system is averaged over.
    caseless = rated.with_columns(pl.lit(None, dtype=pl.String()).alias("case_id"))
    assert condition_names(caseless, factors) == ["persona", "temperature"]


def test_how_a_conversation_came_out_is_no_condition_simulated_or_not() -> None:
    rated = pl.DataFrame(
        {"transcript_id": ["1", "2", "3", "4"], "system": ["a"] * 4, "case_id": ["x", "x", "y", "y"]}
    )
    ended = ["True", "False", "True", "True"]
    factors = pl.DataFrame({"transcript_id": ["1", "2", "3", "4"], "completed": ended})
    assert condition_names(rated, factors) == []
    assert condition_names(rated, factors.with_columns(pl.lit("True").alias("synthetic"))) == []


@pytest.fixture
def mixed(tmp_path: Path) -> Run:
    """A clinic's own conversations in ten words, and five that were simulated in its place in thirty; a model's."""
    talks = [
        conversation(
            ("clinician", "How are you?"), ("patient", " ".join(["word"] * words)), id=f"{system}-{kind}-{case}",
            system=system, case_id=f"c{case}", language="en", factors={"synthetic": True} if kind else {},
        )
        for system, kind, words in (("clinic", 0, 10), ("clinic", 1, 30), ("model", 1, 20)) for case in range(5)
    ]  # fmt: skip
    (tmp_path / "talks.jsonl").write_bytes(b"".join(talk.to_json() + b"\n" for talk in talks))
    return score([tmp_path / "talks.jsonl"], tmp_path / "run", metrics=["structure"]).run


def mean_words(view: RatingsView, system: str) -> float:
    rows = view.ratings.filter(pl.col("metric") == "words.patient", pl.col("system") == system)
    return float(rows.select(pl.col("value").mean()).item())


def test_simulated_conversations_of_a_system_are_never_averaged_with_others_unasked(mixed: Run) -> None:
    for refused in (
        lambda: open_ratings_view(mixed),
        lambda: bedside.compare(mixed),
        lambda: bedside.report(mixed),
    ):
        with pytest.raises(bedside.BedsideError) as error:
            refused()
        assert "clinic has 5 simulated conversations and 5 not simulated" in str(error.value)
        assert "`where=synthetic=True` or `where=synthetic=False`" in str(error.value)
    words = {
        levels: mean_words(open_ratings_view(mixed, where={"synthetic": levels}), "clinic")
        for levels in (("True",), ("False",), ("True", "False"))
    }
    assert words == {("True",): 30.0, ("False",): 10.0, ("True", "False"): 20.0}
    both = open_ratings_view(mixed, where={"synthetic": ["True", "False"]})
    assert [factor.name for factor in both.averaged_factors()] == ["synthetic"]
    (card,) = build_tables(both, ["simulation_card"])
    assert any("numbers are of both together, as was asked for" in note for note in card.notes)


@pytest.mark.slow
def test_the_command_says_how_to_choose_a_kind(mixed: Run, call: Call) -> None:
    code, _, shown = call("compare", mixed.path)
    assert code == 2
    assert "--where synthetic=True or --where synthetic=False" in " ".join(shown.split())
    assert call("compare", mixed.path, "--metrics", "words.patient", "--where", "synthetic=True")[0] == 0
    assert (
        call(
            "compare", mixed.path, "--metrics", "words.patient", "--where", "synthetic=True,synthetic=False"
        )[0]
        == 0
    )


def test_systems_of_one_kind_each_stand_side_by_side(mixed: Run, tmp_path: Path) -> None:
    view = open_ratings_view(mixed, where={"synthetic": ["True"]})
    assert set(view.systems()) == {"clinic", "model"}
    kept = [talk for talk in mixed.transcripts() if not talk.id.startswith("clinic-1")]
    (tmp_path / "apart.jsonl").write_bytes(b"".join(talk.to_json() + b"\n" for talk in kept))
    apart = score([tmp_path / "apart.jsonl"], tmp_path / "apart", metrics=["structure"]).run
    view = open_ratings_view(apart)
    assert (mean_words(view, "clinic"), mean_words(view, "model")) == (10.0, 20.0)
    assert view.where({"synthetic": ["False"]}).systems() == ["clinic"]
    (card,) = build_tables(view, ["simulation_card"])
    assert any("No system has both" in note for note in card.notes)


def test_levels_stand_in_order() -> None:
    assert level_order(["16 turns", "8 turns", "none given", "long"]) == [
        "8 turns",
        "16 turns",
        "long",
        "none given",
    ]
    assert level_order(["10", "9", "b"]) == ["9", "10", "b"]

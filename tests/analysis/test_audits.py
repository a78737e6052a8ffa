"""Audits: what people confirm, by hand counts, and that no table of independent raters has them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from statsmodels.stats.proportion import proportion_confint

import bedside
from bedside.analysis.agreement import agree
from bedside.analysis.audits import Audit, audits
from bedside.analysis.ratings_view import RatingsView
from bedside.analysis.selection import NothingError
from bedside.analysis.validation import validate
from bedside.core.errors import DataError
from bedside.ratings.names import rated_by_humans
from bedside.ratings.run import Run
from bedside.ratings.scales import Scale
from bedside.ratings.suites import SUITES
from bedside.ratings.table import frame_of
from bedside.reports.contents import make_tables
from bedside.reports.table import Table
from bedside.reports.tables import TABLES
from bedside.reports.tables.audits import audits_table
from tests.analysis.builders import definite, ends, has_note, rating
from tests.analysis.ratings_rows import view as rated_view

JUDGE = "judge:invented"
LEVELS = Scale((1.0, 2.0, 3.0, 4.0, 5.0), True)
LABELS = Scale(("open", "closed", "none"), False)
#: Unit, what the judge gave, and each person's answer: their own, or None where they confirm.
Audited = tuple[str, Any, dict[str, Any]]


def audit_view(rows: list[Audited], rubric: str = "warmth", scale: Scale = LEVELS) -> RatingsView:
    """Audits as a plan's answers give them; a unit is ``transcript`` or ``transcript/turn``."""
    table: list[tuple[Any, ...]] = []
    for unit, shown, answers in rows:
        name, _, turn = unit.partition("/")
        place = (name, "s", name, f"turn:{turn}" if turn else "transcript")

        def answered(metric: str, rater: str, answer: Any, place: Any = place) -> tuple[Any, ...]:
            value, label = (None, answer) if isinstance(answer, str) else (answer, None)
            return (*place, metric, rater, 0, value, label, None, None if answer is not None else "skipped")

        table.append(answered(f"{rubric}.audited", JUDGE, shown))
        for person, own in answers.items():
            opinion = "agree" if own is None else "disagree" if own != "skipped" else None
            table.append(answered(f"{rubric}.agrees", f"human:{person}", opinion))
            answer = None if own == "skipped" else shown if own is None else own
            table.append(answered(f"{rubric}.audited", f"human:{person}", answer))
    scales = {f"{rubric}.audited": scale, f"{rubric}.agrees": Scale(("agree", "disagree"), False)}
    return RatingsView(frame_of(table, "audit"), scales, None, "the run")


def whole(view: RatingsView) -> Audit:
    (verdict,) = (verdict for verdict in audits(view) if verdict.level is None)
    return verdict


def cells(table: Table, place: int = 0) -> dict[str, str]:
    titles = [column.title for column in table.columns]
    return {title: cell.text for title, cell in zip(titles, table.rows[place].cells, strict=True)}


def test_people_who_confirm_nearly_all_are_shown_as_such() -> None:
    """36 of 40 confirmed: Wilson's interval; the judge gave 4 to everything, so that a kappa would be 0."""
    rows: list[Audited] = [(f"t{n}", 4.0, {"anna": 3.0 if n < 3 else 5.0 if n == 3 else None}) for n in range(40)]
    verdict = whole(audit_view(rows))
    assert (verdict.units, verdict.answers, verdict.confirming) == (40, 40, 36)
    assert verdict.confirmed.estimate == 0.9
    assert ends(verdict.confirmed.interval) == pytest.approx(proportion_confint(36, 40, method="wilson"), abs=1e-12)
    assert dict(verdict.corrections) == {"lower": 3, "higher": 1}
    shown = cells(audits_table([verdict]))
    assert shown["Confirmed [95 % CI]"] == ".90 [.77, .96]"
    assert shown["The others say"] == "lower 3, higher 1"
    # One person audited each unit: answers are units, and there is no majority.
    assert "By majority" not in shown


def test_labels_in_order_are_higher_or_lower() -> None:
    scale = Scale(("mild", "fair", "severe"), True)
    rows: list[Audited] = [
        ("a", "fair", {"anna": "severe"}),
        ("b", "fair", {"anna": "mild"}),
        ("c", "mild", {"anna": "fair"}),
    ]
    assert dict(whole(audit_view(rows, scale=scale)).corrections) == {"higher": 2, "lower": 1}


def test_each_level_that_the_judge_gave_has_a_row() -> None:
    rows: list[Audited] = [(f"a{n}", 5.0, {"anna": 4.0 if n < 6 else None}) for n in range(10)]
    rows += [(f"b{n}", 2.0, {"anna": None}) for n in range(8)]
    rows += [("c", 3.0, {"anna": "skipped"})]
    by_level = {verdict.level: verdict for verdict in audits(audit_view(rows))}
    assert list(by_level) == [None, "2", "3", "5"]
    assert by_level["2"].confirmed.estimate == 1.0
    assert by_level["5"].confirmed.estimate == 0.4
    assert dict(by_level["5"].corrections) == {"lower": 6}
    assert (by_level["3"].answers, by_level["3"].missing, by_level["3"].confirmed.estimate) == (0, 1, None)
    assert (by_level[None].units, by_level[None].missing) == (18, 1)


def test_several_people_have_a_majority_and_ties_are_none() -> None:
    rows: list[Audited] = [
        ("a", 4.0, {"anna": None, "ben": None, "cleo": 3.0}),
        ("b", 4.0, {"anna": None, "ben": 5.0, "cleo": 3.0}),
        ("c", 4.0, {"anna": None, "ben": 2.0}),
        ("d", 4.0, {"anna": None, "ben": None, "cleo": None}),
    ]
    verdict = whole(audit_view(rows))
    assert (verdict.by_majority, verdict.ties, verdict.units) == (2, 1, 4)
    assert (verdict.confirming, verdict.answers) == (7, 11)
    assert verdict.confirmed.estimate == pytest.approx(7 / 11)
    # Answers on one transcript are not independent of each other.
    assert "clusters" in (verdict.confirmed.interval or verdict.confirmed).method
    shown = cells(audits_table([verdict]))
    assert shown["By majority"] == "2 of 4, 1 tie"
    assert shown["Answers"] == "11"


def test_published_audits_are_shares_of_answers_and_of_majorities_in_the_order_of_the_source() -> None:
    """In round one 3 of 4 answers confirm and a tie is no majority; in round two 6 of 9 do, with 2 of 3 majorities."""
    parts = []
    for name, items in {"experts": ("aad", "add", "aaa"), "students": ("ad", "aa")}.items():
        rows: list[Audited] = [
            (f"{name}{place}", 3.0, {str(who): None if said == "a" else 2.0 for who, said in enumerate(opinions)})
            for place, opinions in enumerate(items)
        ]
        for rubric in ("conversation_flow", "diagnostic_accuracy_hard"):
            parts.append(audit_view(rows, rubric).ratings.with_columns(round=pl.lit(name)))
    view = RatingsView(pl.concat(parts), {}, None, "the run")
    (table,) = make_tables(view, ["audits"], suite=SUITES.load("multisense").printed())
    assert [[cell.text for cell in row.cells] for row in table.rows] == [
        [title, *numbers]
        for numbers in (["2", "2", "4", "75.0", "50.0"], ["3", "3", "9", "66.7", "66.7"])
        for title in ("Diag. Acc. (Hard)", "Flow Correctness")
    ]
    assert [str(row.group).split(":")[0] for row in table.rows] == ["Round students"] * 2 + ["Round experts"] * 2
    assert not any("Wilson" in note for note in table.notes)


def test_turns_are_clustered_by_transcript() -> None:
    """Ten transcripts of 20 turns, each confirmed whole or not at all, tell as much as ten turns."""
    rows: list[Audited] = [
        (f"t{transcript}/{turn}", "open", {"anna": None if transcript < 7 else "closed"})
        for transcript in range(10)
        for turn in range(20)
    ]
    verdict = whole(audit_view(rows, "question", LABELS))
    assert verdict.confirmed.estimate == pytest.approx(0.7)
    interval = definite(verdict.confirmed.interval)
    low, high = proportion_confint(7, 10, method="wilson")
    # Between Wilson's of ten and something wider; Wilson's of 200 would be .63 to .76.
    assert interval.low < low + 0.05
    assert interval.high > high - 0.05
    assert (verdict.transcripts, verdict.units) == (10, 200)
    assert dict(verdict.corrections) == {"closed": 60}


def test_audits_are_no_agreement_of_independent_raters() -> None:
    """Without other ratings there is nothing for kappa, nor for a judge's card; under their full names there is."""
    rng = np.random.default_rng(0)
    rows: list[Audited] = [
        (f"t{n}", float(rng.integers(1, 6)), {"anna": None, "ben": None if n % 5 else 1.0}) for n in range(30)
    ]
    view = audit_view(rows)
    with pytest.raises(NothingError):
        agree(view)
    with pytest.raises(DataError):
        validate(view)
    for metrics in (["warmth"], ["warmth*"]):
        for question in (agree, validate):
            with pytest.raises(DataError, match=r"'warmth.*warmth\.agrees"):
                question(view, metrics=metrics)
    assert {row.metric for row in agree(view, metrics=["warmth.agrees"])} == {"warmth.agrees"}
    assert audits(view, metrics=["warmth"]) == audits(view)
    assert audits(view, raters=[JUDGE, "human:anna"])[0].confirmed.estimate == 1.0
    assert TABLES.load("audits").make(view) is not None
    assert TABLES.load("agreement").make(view) is None


def test_agreement_points_to_the_table_of_audits(tmp_path: Any) -> None:
    rows: list[Audited] = [(f"t{n}", 4.0, {"anna": None, "ben": 3.0}) for n in range(12)]
    view = audit_view(rows)
    blind = frame_of(
        rating(f"t{n}", "s", f"t{n}", "calm", f"human:{who}", float(1 + (n + shift) % 5))
        for n in range(12)
        for who, shift in (("anna", 0), ("ben", n % 2))
    )
    frame = blind.vstack(view.ratings)
    tables = bedside.agree(frame.drop("drawn"), scales="calm=1-5", rounds="all")
    assert tables.names == ("agreement", "generalisability", "audits")
    assert {record["metric"] for record in tables["agreement"].records} == {"calm"}
    assert any(note.startswith("Audits are not among them") for note in tables["agreement"].notes)
    assert [record["estimate"] for record in tables["audits"].records] == [0.5]


def test_audits_hide_no_error_and_no_agreement_beside_them() -> None:
    """Whatever was wrong with the question, a run with audits answered with these alone."""
    audited = audit_view([(f"t{n}", 4.0, {"anna": None, "ben": 3.0}) for n in range(12)])
    blind = rated_view(
        [(f"t{n}", "s", f"t{n}", "calm", f"human:{who}", float(1 + n % 3)) for n in range(12) for who in "xy"]
    )
    frame = blind.ratings.vstack(audited.ratings).drop("drawn")
    how: Any = {"scales": "calm=1-3", "rounds": "all"}
    assert bedside.agree(frame, metrics=["warmth", "calm"], **how).names == ("agreement", "audits")
    assert bedside.agree(frame, metrics="warmth", **how).names == ("audits",)
    with pytest.raises(DataError, match=r"`alpha`: .*'rank'"):
        bedside.agree(frame, alpha="rank", **how)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="'heat'"):
        bedside.agree(frame, metrics=["warmth", "heat"], **how)


def test_an_audit_of_a_run_stands_in_report_and_command(audited_run: Run) -> None:
    tables = bedside.agree(audited_run)
    assert tables.names == ("audits",)
    (record,) = (r for r in tables["audits"].records if r["judge_gave"] is None)
    assert (record["metric"], record["estimate"], record["answers"]) == ("empathy", 0.5, 24)
    assert record["by_majority"] == 0
    assert record["ties"] == 12
    assert bedside.tables(audited_run, "audits")["audits"].records == tables["audits"].records


@pytest.fixture
def audited_run(tmp_path: Any) -> Run:
    """A run in which anna confirms a judge everywhere and ben nowhere."""
    from bedside.annotation.items import judge_scores
    from tests.annotation.builders import pulled
    from tests.annotation.study import EMPATHY, USERS, exported, new_study, rating_plan

    run = new_study(tmp_path)
    plan = rating_plan(run, mode="audit", rubrics=(EMPATHY,), raters=("anna", "ben"))
    shown = judge_scores(plan, run)

    def say(item: str, rater: str) -> dict[str, Any]:
        level = int(shown[plan.by_id[item].transcript, "transcript", "empathy"][0])
        if rater == "anna":
            return {"agree__empathy": "agree"}
        return {"agree__empathy": "disagree", "empathy": str(level % 5 + 1)}

    pulled(run, plan, exported(plan, say, USERS))
    return Run(run.path)


def with_design(view: RatingsView, case_of: dict[str, str], chance_of: dict[str, float]) -> RatingsView:
    """The view with the case and the chance of each transcript."""
    name = pl.col("transcript_id")
    drawn = pl.when(rated_by_humans()).then(name.replace_strict(chance_of, return_dtype=pl.Float64()))
    table = view.ratings.with_columns(name.replace_strict(case_of).alias("case_id"), drawn.alias("drawn"))
    return replace(view, ratings=table)


def test_answers_on_transcripts_of_one_case_are_drawn_together() -> None:
    """Twelve cases of four transcripts, in each of which people confirm all four or none."""
    rows: list[Audited] = [(f"t{n}", 3.0, {"anna": None if n // 4 % 3 else 4.0}) for n in range(48)]
    alone = {f"t{n}": f"c{n}" for n in range(48)}
    together = {name: f"c{int(name[1:]) // 4}" for name in alone}
    even = dict.fromkeys(alone, 0.5)
    apart, whole_cases = (whole(with_design(audit_view(rows), cases, even)) for cases in (alone, together))
    assert (apart.cases, whole_cases.cases, whole_cases.transcripts) == (48, 12, 48)
    assert apart.confirmed.estimate == whole_cases.confirmed.estimate == pytest.approx(2 / 3)
    widths = [
        bounds.high - bounds.low
        for bounds in (definite(apart.confirmed.interval), definite(whole_cases.confirmed.interval))
    ]
    # Four times as few independent answers: about twice as wide.
    assert widths[1] > 1.7 * widths[0]


def test_answers_on_units_drawn_with_unequal_chances_are_weighted() -> None:
    """Half of those drawn are crises, which people confirm in 4 of 20; but crises are a tenth: .1 · .2 + .9 · .9."""
    rows: list[Audited] = [(f"t{n}", 3.0, {"anna": None if n % 20 < (4 if n < 20 else 18) else 4.0}) for n in range(40)]
    names = [name for name, _, _ in rows]
    view = with_design(
        audit_view(rows),
        {name: name for name in names},
        {name: 0.9 if place < 20 else 0.1 for place, name in enumerate(names)},
    )
    verdict = whole(view)
    assert verdict.chances == "unequal"
    assert verdict.confirmed.estimate == pytest.approx(0.1 * 0.2 + 0.9 * 0.9)
    assert has_note(audits_table((verdict,)), "weighted by one over its unit's chance")


def test_audited_units_that_were_picked_are_left_out_where_others_were_drawn() -> None:
    rows: list[Audited] = [(f"t{n}", 3.0, {"anna": None if n < 10 else 4.0}) for n in range(20)]
    names = [name for name, _, _ in rows]
    cases = {name: name for name in names}
    view = with_design(audit_view(rows), cases, {name: 0.5 * (place < 10) for place, name in enumerate(names)})
    verdict = whole(view)
    assert (verdict.units, verdict.picked, verdict.confirmed.estimate) == (10, 10, 1.0)
    assert has_note(audits_table((verdict,)), "10 units picked for what they are")
    picked = whole(with_design(audit_view(rows), cases, dict.fromkeys(names, 0.0)))
    assert (picked.units, picked.picked, picked.chances) == (20, 0, "none")
    assert has_note(audits_table((picked,)), "is about these units")


def test_audits_are_no_metric_unless_a_pattern_with_a_dot_names_them() -> None:
    """A comparison of systems by ``warmth`` is by what was rated blind, and its family of tests as large as that."""
    rows: list[Audited] = [(f"t{n}", float(1 + n % 5), {"anna": None}) for n in range(10)]
    audited = audit_view(rows)
    blind = frame_of([rating(f"t{n}", "s", f"t{n}", "warmth", "human:ben", 3.0) for n in range(10)], "blind")
    view = replace(audited, ratings=pl.concat([audited.ratings, blind]))
    assert view.metrics() == view.metrics(["warmth"]) == view.metrics(["w*"]) == ["warmth"]
    assert view.metrics(["warmth.audited"]) == ["warmth.audited"]
    assert view.metrics(["*.a*"]) == ["warmth.agrees", "warmth.audited"]
    assert audits(view, metrics=["warmth"])[0].level is None
    assert audits(view, metrics=["warm*"]) == audits(view) == audits(view, metrics=["warmth.agrees"])
    assert audits(audited, metrics=["warmth"]) == audits(audited)
    with pytest.raises(DataError, match="coldness"):
        audits(view, metrics=["coldness"])


def test_two_rounds_stand_apart_where_a_source_has_two() -> None:
    """MultiSenseEval's form: two of four people an item, 5 of 6 answers confirm; then three, by majority 1 of 2."""
    first = audit_view(
        [("a", 1, {"p": None, "q": None}), ("b", 2, {"r": None, "s": 3}), ("c", 2, {"p": None, "s": None})]
    )
    second = audit_view([("a", 1, {"x": None, "y": None, "z": 2}), ("d", 4, {"x": 2, "y": 3, "z": None})])
    both = [part.ratings.with_columns(round=pl.lit(name)) for part, name in ((first, "one"), (second, "two"))]
    kind = TABLES.load("audits")
    assert kind.options is not None
    view = replace(first, ratings=pl.concat(both))
    table = kind.make(view, 0, kind.options.model_validate({"by_round": True}))
    assert table is not None
    rows = [record for record in table.records if record.get("units") and "/any" in record["cell"]]
    assert [(row["round"], row["units"], row["by_majority"], row["ties"]) for row in rows] == [
        ("one", 3, 2, 1),
        ("two", 2, 1, 0),
    ]
    assert [row["estimate"] for row in rows] == pytest.approx([5 / 6, 3 / 6])
    assert table.rows[0].group == "Round one: invented, as people see it"
    together = kind.make(view, 0, kind.options())
    assert together is not None
    assert [record["units"] for record in together.records if "/any" in record["cell"]] == [5], "a unit is of a round"

"""Answers to a plan's units that came in a sheet of people's own: the plan is found, named, or said to be unknown."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bedside
from bedside.analysis.estimation import estimate
from bedside.annotation.annotation_plan import AnnotationPlan, plan_hash, round_of
from bedside.annotation.answer_store import keep_answers, plan_folder
from bedside.annotation.plan_file import PlanError, write_plan
from bedside.annotation.sheet_import import SheetImport, import_sheet
from bedside.core.errors import InputError
from bedside.core.files import make_folder
from bedside.ratings.rating_files import read_rating_file
from bedside.ratings.rating_reading import RatingReading
from bedside.ratings.run import Run
from bedside.ratings.scales import parse_scales
from tests.analysis.test_estimation import Planned
from tests.annotation.builders import QUESTION, copy_of, people, rater_answer
from tests.annotation.study import JUDGE, rating_plan
from tests.conftest import Call
from tests.soak import budget


def kept(run: Run, plan: AnnotationPlan) -> AnnotationPlan:
    """The plan, once ``bedside sample`` has put it into the run."""
    make_folder(plan_folder(run, plan))
    write_plan(plan, plan_folder(run, plan) / "plan.json")
    return plan


@pytest.fixture
def study(tmp_path: Path) -> Planned:
    return Planned(tmp_path, routine=270, crisis=30)


def sheet(study: Planned, names: Iterable[str], file: str = "sheet.csv", rater: str = "anna") -> Path:
    path = study.run.path.parent / file
    rows = "".join(f"{name},{rater},empathy,{study.level[name]:.0f}\n" for name in names)
    path.write_text(f"item,rater,metric,value\n{rows}")
    return path


def imported(study: Planned, path: Path, **options: Any) -> SheetImport:
    ratings = read_rating_file(path, RatingReading(scales=parse_scales(["1-5"])))
    return import_sheet(Run(study.run.path), path, ratings, **options)


def names(plan: AnnotationPlan) -> list[str]:
    return sorted(item.transcript for item in plan.items)


def planned_beside(folder: Path, **sizes: int) -> Planned:
    """Another study."""
    folder.mkdir()
    return Planned(folder, **sizes)


def test_the_draw_of_the_plan_whose_units_these_are_is_taken_over(study: Planned) -> None:
    """25 of 30 crisis and of 270 routine transcripts, typed into a sheet: before, they were taken for 50 of 300."""
    plan = kept(study.run, study.plan(by=("kind",), per=25))
    done = imported(study, sheet(study, names(plan)))
    assert done == SheetImport(50, 0, 0, plan_hash(plan), False, (), done.file)
    assert people(study.run)["round"].unique().to_list() == [round_of(plan)]
    chances = {item.transcript: item.chance for item in plan.items}
    assert dict(people(study.run).select("transcript_id", "drawn").iter_rows()) == chances
    (of_sheet,) = estimate(study.view(), judge=JUDGE)
    other = planned_beside(study.run.path.parent / "other", routine=270, crisis=30)
    other.rated(plan)
    (of_page,) = estimate(other.view(), judge=JUDGE)
    assert (of_sheet.human, of_sheet.corrected) == (of_page.human, of_page.corrected)
    assert of_sheet.corrected.interval is not None
    assert of_sheet.corrected.interval.low < study.truth.mean() < of_sheet.corrected.interval.high
    assert of_sheet.samples[0].by == ("kind",)


@pytest.mark.slow
def test_means_corrected_by_a_sheet_cover_the_truth(study: Planned) -> None:
    """Before, no interval of six did."""
    count, covered = budget(60, 1000), 0
    for seed in range(count):
        plan = kept(study.run, study.plan(by=("kind",), per=25, seed=seed))
        imported(study, sheet(study, names(plan)), plan=plan_hash(plan))
        (found,) = estimate(study.view(rounds=[round_of(plan)]), judge=JUDGE, about="run")
        assert found.corrected.interval is not None
        covered += found.corrected.interval.low <= study.truth.mean() <= found.corrected.interval.high
    assert covered / count >= 0.93


def test_where_no_draw_is_known_nothing_is_corrected(study: Planned) -> None:
    """The worst of the judge's ratings were looked at: their mean is no sample's."""
    plan = kept(study.run, study.plan(by=("kind",), per=25))
    worst = np.argsort(-np.abs(study.judge - study.truth), kind="stable")[:40]
    done = imported(study, sheet(study, [study.names[n] for n in worst]))
    assert (done.added, done.plan, done.unknown) == (40, None, True)
    tables = bedside.estimate(study.run)
    (found,) = tables.results
    assert found.naive.estimate == pytest.approx(study.judge.mean())
    for result in (found.human, found.corrected):
        assert (result.estimate, result.interval) == (None, None)
        assert re.match("no draw is known for these ratings.*in round import", str(result.missing))
    assert tables.results[0].samples[0].assumed == 0
    (record,) = tables[0].records
    assert (record["corrected"], record["corrected_missing"]) == (None, found.corrected.missing)
    # A plan's own answers beside them are a sample, which is told by its round.
    study.rated(plan)
    assert estimate(study.view(rounds=["all"]), judge=JUDGE)[0].corrected.estimate is None
    assert estimate(study.view(rounds=[round_of(plan)]), judge=JUDGE)[0].corrected.estimate is not None


def test_who_says_the_chances_needs_no_plan(study: Planned) -> None:
    """One chance for all is a simple random sample; several are one by strata that aren't named."""
    path = study.run.path.parent / "own.csv"
    drawn = study.names[::6]

    def found(last: str) -> Any:
        chances = [f"{1 / 6:.4f}"] * (len(drawn) - 1) + [last]
        rows = [
            f"{name},anna,empathy,{study.level[name]:.0f},{chance}" for name, chance in zip(drawn, chances, strict=True)
        ]
        path.write_text("\n".join(["item,rater,metric,value,drawn", *rows]))
        assert imported(study, path).plan is None
        (estimated,) = estimate(study.view(), judge=JUDGE)
        return estimated

    assert found(f"{1 / 6:.4f}").human.estimate == pytest.approx(np.mean([study.level[name] for name in drawn]))
    assert found("0.5").corrected.missing.startswith("the chances stated for these ratings differ")


def test_who_rated_everything_needs_no_draw_and_some_of_all_are_no_sample(study: Planned) -> None:
    plan = kept(study.run, study.plan())
    path = sheet(study, study.names[:40], "some.csv")
    assert imported(study, path).plan is None
    assert estimate(study.view(), judge=JUDGE)[0].corrected.estimate is None
    assert imported(study, path, plan=plan_hash(plan), round="named").plan == plan_hash(plan), "said by somebody"
    assert imported(study, sheet(study, study.names), round="all").plan is None, "a plan of all fits every sheet"
    (found,) = estimate(study.view(rounds=["all"]), judge=JUDGE, about="run")
    assert found.corrected.estimate == pytest.approx(study.truth.mean())
    assert found.samples[0].undrawn is None


def test_each_rater_can_hand_in_a_part(study: Planned) -> None:
    plan = kept(study.run, rating_plan(study.run, rubrics=study.plan().questions, per=30, overlap=1))
    for rater, order in plan.assignment.items():
        part = [plan.by_id[name].transcript for name in order]
        assert imported(study, sheet(study, part, f"{rater}.csv", rater)).plan == plan_hash(plan)
    assert people(study.run).height == 30
    assert estimate(study.view(), judge=JUDGE)[0].labelled == 30


def test_two_plans_that_fit_are_named_and_nothing_is_imported(study: Planned) -> None:
    small, large = (kept(study.run, study.plan(per=per, round=name)) for per, name in ((20, "pilot"), (40, "")))
    assert set(names(small)) < set(names(large))
    path = sheet(study, names(small))
    both = sorted((plan_hash(small), plan_hash(large)))
    with pytest.raises(InputError, match=f"{both[0]}.* and {both[1]}") as stopped:
        imported(study, path)
    assert f"{plan_hash(small)} (round pilot)" in str(stopped.value)
    assert people(study.run).is_empty()
    assert imported(study, path, plan="pilot").plan == plan_hash(small)
    assert set(people(study.run)["drawn"]) == {20 / 300}
    assert imported(study, path, plan=plan_folder(study.run, large) / "plan.json").plan == plan_hash(large)
    assert imported(study, sheet(study, names(large))).plan == plan_hash(large), "the small one hasn't all of it"
    path = sheet(study, names(small))
    assert imported(study, path, plan="pilot", round="again").added == 20
    assert set(people(study.run)["round"]) == {"pilot", round_of(large), "again"}
    (found,) = estimate(study.view(rounds=["again"]), judge=JUDGE)
    assert found.human.estimate == pytest.approx(np.mean([study.level[name] for name in names(small)]))


def test_a_plan_that_cannot_be_it_is_refused(study: Planned, tmp_path: Path) -> None:
    plan = kept(study.run, study.plan(per=20))
    other = next(name for name in study.names if name not in names(plan))
    with pytest.raises(InputError, match=f"plan {plan_hash(plan)} hasn't drawn '{other}'"):
        imported(study, sheet(study, [*names(plan), other]), plan=plan_hash(plan))
    with pytest.raises(InputError, match=f"there is no plan 'main'.*{plan_hash(plan)}"):
        imported(study, sheet(study, names(plan)), plan="main")
    path = tmp_path / "own.csv"
    path.write_text(f"item,rater,metric,value,round\n{names(plan)[0]},anna,empathy,3,first\n")
    with pytest.raises(InputError, match="says rounds or chances itself"):
        imported(study, path, plan=plan_hash(plan))
    elsewhere = planned_beside(tmp_path / "elsewhere", routine=20, crisis=5)
    write_plan(elsewhere.plan(), tmp_path / "elsewhere.json")
    with pytest.raises(PlanError, match="made for another run"):
        imported(study, sheet(study, names(plan)), plan=tmp_path / "elsewhere.json")
    assert people(study.run).is_empty()


def test_an_answer_to_the_plan_stands_and_that_is_said(study: Planned, call: Call) -> None:
    plan = kept(study.run, study.plan(per=20))
    first, *others = sorted(plan.items, key=lambda item: item.transcript)
    given = "1" if study.level[first.transcript] > 2 else "5"
    answers = [rater_answer(first.id, "anna", {"empathy": given}), rater_answer(others[0].id, "anna")]
    keep_answers(study.run, plan, answers)
    path = sheet(study, names(plan))
    _, output, errors = call("ratings", "import", study.run.path, path, "--scale", "1-5")
    assert "1 rating of the same people and units came by a plan before: those stand." in output + errors
    assert f"Plan {plan_hash(plan)} drew these units" in output + errors
    rated = dict(people(study.run).select("transcript_id", "value").iter_rows())
    assert rated == {**{name: study.level[name] for name in names(plan)}, first.transcript: float(given)}


def test_coded_turns_are_of_the_transcripts_that_a_plan_drew(large: Run, tmp_path: Path) -> None:
    run = copy_of(large, tmp_path / "run")
    plan = kept(run, rating_plan(run, mode="codes", rubrics=(QUESTION,), per=10, by=("system",)))
    path = tmp_path / "codes.csv"
    label = QUESTION.labels[0].label
    rows = "".join(f"{name},anna,question,{turn},{label}\n" for name in names(plan) for turn in (0, 2))
    path.write_text(f"item,rater,metric,turn,value\n{rows}")
    assert bedside.import_ratings(run, path).added == 40
    assert set(people(run)["drawn"]) == {10 / 40}
    assert people(run)["round"].unique().to_list() == [round_of(plan)]

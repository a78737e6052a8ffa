"""``bedside sample`` and ``bedside annotate`` as a user types them: from a plan to agreement, and what is refused."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from bedside.annotation.plan_file import read_plan, write_plan
from bedside.ratings.run import Run
from bedside.ratings.table import frame_of
from bedside.scoring.score import score
from tests.annotation.builders import fill_csv, fill_xlsx, keep
from tests.annotation.study import JUDGE, levels, rating_plan, write_transcripts
from tests.annotation.tool_stand_ins import argilla
from tests.conftest import Call, works

#: Commands are typed beside the folder of the run.
pytestmark = pytest.mark.usefixtures("run")
SAMPLE = (*"sample run --by system,length --per 2 --rubrics empathy,goal_alignment --seed".split(), 7)


@pytest.mark.slow
def test_from_a_plan_to_agreement(call: Call, tmp_path: Path) -> None:
    code, out, err = call(*SAMPLE, "--raters", "anna,ben,cleo", "--out", "plan.json")
    assert (code, "GPT-Secret" in out, "Wrote plan.json" in err) == (0, True, True)
    drawn, available = re.match(r"Drew (\d+) of (\d+) units for 3 raters to rate\.\n", out).groups()  # type: ignore[union-attr]
    assert re.search(rf"^ *all .* {available} +\d+ +{drawn} ", out, flags=re.MULTILINE)
    # The same again is the same plan; another one doesn't take its place.
    assert call(*SAMPLE, "--raters", "anna,ben,cleo", "--out", "plan.json")[0] == 0
    code, _, err = call(*SAMPLE[:-1], 8, "--raters", "anna,ben,cleo", "--out", "plan.json")
    assert (code, "plan.json: the file holds another plan" in err) == (2, True)
    code, out, _ = call("annotate", "export", "plan.json")
    assert (code, out.split()) == (0, [f"to-rate/{rater}.xlsx" for rater in ("anna", "ben", "cleo")])

    def fill(row: dict[str, str]) -> None:
        given = levels(row["item"], row["rater"])
        row.update(empathy=given["empathy"], goal_alignment=given["goal_alignment"])

    for path in out.split():
        fill_xlsx(Path(path), fill)
    code, out, _ = call("annotate", "import", "plan.json", *out.split())
    assert (code, out.startswith("16 new answers, 0 corrections, 0 there already; 16 count")) == (0, True)
    assert "run has 32 ratings of this plan, 0 of them missing" in out
    assert "Next: bedside agree" in out
    code, out, _ = call("annotate", "import", "plan.json", "to-rate/anna.xlsx")
    assert out.startswith("0 new answers, 0 corrections,")
    code, out, _ = call("annotate", "status", "run", "--json")
    tables = {table["table"]: table for table in json.loads(out)}
    assert code == 0
    assert {row["open"] for row in tables["status"]["rows"]} == {0}
    assert "agreement" in tables
    out, _ = works(call, "agree", "run", "--rubric", "empathy", "--json")
    more = ("--aim", "kappa", "--count", 4, "--out", "more.json")
    code, out, err = call("annotate", "next", "plan.json", *more)
    assert (code, "nobody rated it" in out, "What it would bring" in out) == (0, True, True)
    assert call("annotate", "export", "more.json", "--out", "more", "--format", "csv")[0] == 0
    assert call("annotate", "next", "plan.json", "--aim", "disagreement", "--json")[0] == 0
    code, out, _ = call("annotate", "status", "run")
    assert out.count("Where the raters are") == 2


def test_a_plan_goes_to_another_tool_and_comes_back(call: Call) -> None:
    assert call(*SAMPLE, "--raters", "anna,ben", "--out", "plan.json")[0] == 0
    code, out, err = call("annotate", "export", "plan.json", "--format", "argilla")
    assert (code, out.split()) == (0, ["to-rate/anna", "to-rate/ben"])
    assert "rg.Dataset.from_disk" in err
    folders = map(Path, out.split())
    paths = [argilla(folder, lambda task, name: ["4"] if "__" not in name else ()) for folder in folders]
    code, out, _ = call("annotate", "import", "plan.json", *paths)
    assert (code, out.startswith("16 new answers")) == (0, True)
    code, out, _ = call("annotate", "import", "plan.json", paths[0], "--users", "nobody=anna")
    assert "Left out: 8 answers of user 00000000-0000-4000-8000-00000000anna" in out
    code, _, err = call("annotate", "export", "plan.json", "--format", "brat", "--out", "brat")
    assert (code, "there is no form 'brat'" in err) == (2, True)


def test_the_run_is_found_or_named(call: Call, tmp_path: Path) -> None:
    call(*SAMPLE, "--out", "plan.json")
    shutil.move(tmp_path / "run", tmp_path / "elsewhere")
    code, _, err = call("annotate", "status", "plan.json")
    assert (code, "name the run with --run" in err) == (2, True)
    assert call("annotate", "status", "plan.json", "--run", "elsewhere")[0] == 0
    inside = next((tmp_path / "elsewhere").rglob("plan.json"))
    assert call("annotate", "status", inside)[0] == 0


def test_a_plan_says_where_its_run_was_drawn(call: Call, tmp_path: Path) -> None:
    for folder in ("studies", "plans"):
        (tmp_path / folder).mkdir()
    shutil.move(tmp_path / "run", tmp_path / "studies" / "one")
    sampled = ("sample", "studies/one", "--rubrics", "empathy", "--per", 2, "--out", "plans/plan.json")
    err = works(call, *sampled)[1]
    assert err.rstrip().endswith("bedside annotate export plans/plan.json"), "the run isn't named again"
    assert works(call, "annotate", "export", "plans/plan.json", "--format", "csv")[0].split()
    # Moved together, they are found; the run alone isn't, and a plan that says nothing is read as before.
    (tmp_path / "all").mkdir()
    for folder in ("studies", "plans"):
        shutil.move(folder, tmp_path / "all" / folder)
    assert works(call, "annotate", "status", "all/plans/plan.json")
    shutil.move(tmp_path / "all" / "studies", tmp_path / "others")
    code, _, said = call("annotate", "export", "all/plans/plan.json")
    assert (code, said.count("\n")) == (2, 1)
    assert "not beside it, nor at all/studies/one, where the plan looks for it; name the run with --run" in said
    file = tmp_path / "all" / "plans" / "plan.json"
    plan = read_plan(file)
    write_plan(plan.model_copy(update={"folder": ""}), file)
    assert "folder" not in json.loads(file.read_text("utf-8"))
    assert read_plan(file).seal == plan.seal
    said = call("annotate", "export", file)[2]
    assert "the run of the plan is not beside it; name the run with --run" in said


def test_what_an_audit_came_to_stands_beside_the_tables_of_a_suites_source(call: Call, tmp_path: Path) -> None:
    assert call("sample", "run", "--mode", "audit", "--rubrics", "empathy", "--per", 4, "--raters", "anna,ben")[0] == 0
    files = works(call, "annotate", "export", "plan.json", "--format", "csv")[0].split()
    report = ("report", "run", "--suite", "calm-it", "--as-published", "--format", "md", "--out", "report")
    works(call, *report)
    assert not (tmp_path / "report" / "audits.md").exists()

    confirming = []

    def answered(row: dict[str, str]) -> None:
        row["empathy"] = "1" if row["rater"] == "ben" else row["judge__empathy"]
        confirming.append(row["empathy"] == row["judge__empathy"])

    for file in files:
        fill_csv(Path(file), answered)
    works(call, "annotate", "import", "plan.json", *files)
    works(call, *report)
    lines = (tmp_path / "report" / "audits.md").read_text("utf-8").splitlines()
    (every,) = (line.split(" | ") for line in lines if line.startswith("| Empathy | any |"))
    assert every[2:5] == [str(len(confirming) // 2), "2", str(len(confirming))]
    assert every[5].startswith(f"{sum(confirming) / len(confirming):.2f} ".removeprefix("0"))


@pytest.mark.parametrize("mode", ["rate", "audit", "findings", "codes"])
def test_every_mode_is_drawn_and_exported_in_every_form(call: Call, mode: str) -> None:
    assert call("sample", "run", "--mode", mode, "--per", 2)[0] == 0
    for form in ("xlsx", "csv", "label-studio"):
        code, out, _ = call("annotate", "export", "plan.json", "--format", form)
        assert (code, all(Path(line).stat().st_size for line in out.split())) == (0, True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--rubrics", "empaty"), "empathy"),
        (("--mode", "guess"), "--mode: there is no choice 'guess'"),
        (("--training", "none.jsonl"), "none.jsonl"),
        (("--training", "3"), "people agree on 0 units"),
        (("--mode", "codes", "--training", "1"), "in mode codes there is no consensus to train by"),
        (("--raters", "0"), "0 raters"),
        (("--raters", "a/b"), "'a/b' can't be a rater's name"),
    ],
)
def test_bad_calls_end_in_one_line(call: Call, arguments: tuple[str, ...], message: str) -> None:
    code, out, err = call("sample", "run", *arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert message in err
    assert not Path("plan.json").exists()


def test_a_reworded_rubric_stops_the_export(call: Call, tmp_path: Path) -> None:
    shipped = Path(__file__).parents[2] / "bedside/judges/rubrics/shipped/partnership.yaml"
    text = shipped.read_text("utf-8").replace("name: partnership", "name: teamwork")
    file = tmp_path / "rubrics" / "teamwork.yaml"
    file.parent.mkdir()
    file.write_text(text, "utf-8")
    options = ("--rubric-folder", file.parent)
    assert call("sample", "run", "--rubrics", "teamwork", *options)[0] == 0
    file.write_text(text.replace("title: ", "title: New "), "utf-8")
    code, _, err = call("annotate", "export", "plan.json", *options)
    assert (code, "the rubric teamwork was changed" in err) == (2, True)
    file.write_text(text, "utf-8")
    assert call("annotate", "export", "plan.json", *options)[0] == 0


def test_the_next_command_is_one_that_answers(run: Run, call: Call, tmp_path: Path) -> None:
    for mode, command in (("rate", "agree"), ("pairs", "compare")):
        plan = rating_plan(run, mode=mode, raters=("anna", "ben"), round="pilot", per=2, overlap=1)
        write_plan(plan, tmp_path / "round.json")
        out = str(tmp_path / mode)
        assert call("annotate", "export", "round.json", "--run", run.path, "--out", out)[0] == 0
        files = sorted(map(str, Path(out).glob("*.xlsx")))
        said = call("annotate", "import", "round.json", *files, "--run", run.path)[1]
        line = next(line for line in said.splitlines() if line.startswith("Next: "))
        assert line.startswith(f"Next: bedside {command} "), line
        assert line.endswith("--round pilot"), line


@pytest.mark.parametrize("goals", [0, 3])
def test_rubrics_that_need_what_transcripts_lack_are_left_out_and_named(goals: int, call: Call, tmp_path: Path) -> None:
    """As after a suite whose rubrics need a goal: before, nothing was left to rate."""
    run = without_goals(tmp_path, keeping=goals)
    out, err = works(call, "sample", run.path, "--raters", "anna,ben", "--out", "drawn.json", "--json")
    plan = json.loads(Path("drawn.json").read_text("utf-8"))
    if goals:
        # Some have a goal, and are rated by both; the others are counted.
        assert [each["rubric"]["name"] for each in plan["rubrics"]] == ["empathy", "goal_alignment"]
        assert (plan["left_out"], len(plan["items"])) == ({"no goal": 9}, 3)
        return
    assert "People can't rate goal_alignment, which is left out: no goal (12 of 12 transcripts)." in err
    assert [each["rubric"]["name"] for each in plan["rubrics"]] == ["empathy"]
    assert len(plan["items"]) == 12
    assert json.loads(out)
    code, _, err = call("sample", run.path, "--rubrics", "goal_alignment", "--out", "goal.json")
    assert (code, "nothing is left to rate by goal_alignment (12 no goal)" in err) == (2, True)


def without_goals(folder: Path, keeping: int) -> Run:
    """A run of 12 transcripts, of which so many have a goal, judged by empathy and alignment with the goal."""
    path = write_transcripts(folder / "talks.jsonl")
    talks = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    for talk in talks[keeping:]:
        talk["reference"] = {}
    path.write_text("\n".join(map(json.dumps, talks)) + "\n", "utf-8")
    run = score([path], folder / "judged", metrics=["structure"]).run
    rows = [
        (name, None, None, "transcript", metric, JUDGE, 0, 3.0, None, None, None)
        for name in run.index["id"]
        for metric in ("empathy", "goal_alignment")
    ]
    with run.locked():
        run.add(frame_of(rows).lazy(), run.manifest)
    return run


def test_a_study_that_runs_is_said_to_and_one_that_is_done_is_not(call: Call, run: Run) -> None:
    plan = rating_plan(run, raters=("anna",), overlap=1)
    half = {item.id for item in plan.items[:6]}
    keep(run, plan, lambda item, rater: levels(item, rater) if item in half else None)
    running = "A look at a running study: 6 of 12 planned answers are in; intervals hold"
    for command in ("compare", "estimate"):
        once, always = (" ".join(works(call, command, "run", *more)[0].split()) for more in ((), ("--looks",)))
        assert f"{running} for one look. Add --looks." in once
        assert f"{running} at every look, for these raters." in always
        tables = {table["table"]: table["rows"] for table in json.loads(works(call, command, "run", "--json")[0])}
        look = next(row for row in tables["findings"] if row["kind"] == "one look")
        assert (look["measures"][0]["n"], look["measures"][0]["of"]) == (6, 12)
    # Where there are no intervals for every look, none are offered.
    for words in (["compare", "run", "--margin", "0.5"], ["validate", "run"], ["agree", "run"]):
        said = " ".join(works(call, *words)[0].split())
        assert (f"{running} for one look." in said, "Add --looks" in said) == (True, False), words
    # What no person rated doesn't wait for people.
    assert "running study" not in works(call, "compare", "run", "--raters", "judge:*")[0]
    keep(Run(run.path), plan, levels)
    for command in ("compare", "estimate"):
        assert "running study" not in works(call, command, "run")[0]
        assert "hold at every look" in " ".join(works(call, command, "run", "--looks", "--all", "--notes")[0].split())


def test_a_margin_is_for_one_look(call: Call) -> None:
    code, _, err = call("compare", "run", "--margin", 0.5, "--looks")
    assert (code, "--margin: a margin is tested at one look only" in err) == (2, True)

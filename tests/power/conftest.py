"""A folder with everything that the commands work on, made once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bedside.annotation.plan import write_plan
from bedside.ratings import Run, frame_of
from tests.annotation.study import SYSTEMS, USERS, exported, levels, new_study, rating_plan
from tests.coders.test_trained import corpus
from tests.power.bench import CASES, Bench, made
from tests.power.children import run


@pytest.fixture(scope="session")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with transcripts, a run that a judge and people rated, ratings to import, a plan with answers."""
    folder = tmp_path_factory.mktemp("study")
    rated = new_study(folder, cases=3)
    talks = sorted(rated.index.select("id", "system", "case_id").iter_rows())
    people = [
        (*talk, "transcript", "empathy", f"human:{who}", 0, float(1 + (place + other) % 5), None, None, None)
        for place, talk in enumerate(talks)
        for other, who in enumerate(("dora", "emil"))
    ]
    with rated.locked():
        rated.add(frame_of(people).lazy(), rated.manifest)
    rows = [
        f"{talk[0]},{who},goal_alignment,{1 + place % 5}"
        for place, talk in enumerate(talks)
        for who in ("dora", "emil")
    ]
    (folder / "ratings.csv").write_text("\n".join(("item,rater,metric,value", *rows)) + "\n")
    plan = rating_plan(Run(rated.path))
    write_plan(plan, folder / "plan.json")
    (folder / "answers.json").write_text(json.dumps(exported(plan, levels, USERS)))
    (folder / "many.jsonl").write_text("".join(_talk(number) for number in range(120)))
    (folder / "coded.jsonl").write_text("".join(t.to_json().decode() + "\n" for t in corpus(8)))
    return folder


def _talk(number: int) -> str:
    turns = [
        {"role": "clinician", "speaker": "c", "text": f"How was week {number}?", "meta": {}},
        {"role": "patient", "speaker": "p", "text": "It was hard. I want to change that.", "meta": {}},
    ]
    talk = {"id": f"t{number}", "system": SYSTEMS[number % 2], "case_id": f"c{number // 2}", "turns": turns,
            "factors": {}, "reference": {}, "language": "en"}  # fmt: skip
    return json.dumps(talk) + "\n"


@pytest.fixture(scope="session", autouse=True)
def forked(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Have everything imported before anything is timed."""
    code, said, _ = run(["--version"], tmp_path_factory.mktemp("forked"))
    assert code == 0, said


@pytest.fixture(params=CASES, scope="package")
def bench(request: pytest.FixtureRequest, study: Path, tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return made(CASES[request.param], study, tmp_path_factory.mktemp(request.param))

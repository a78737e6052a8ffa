"""A folder with everything that the commands work on, made once."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

pytest.importorskip("aiohttp")

from bedside.annotation.label_studio_client import LabelStudioClient
from bedside.annotation.label_studio_projects import push
from bedside.annotation.plan_file import write_plan
from bedside.annotation.rating_page.study_people import People
from bedside.ratings.run import Run
from bedside.ratings.table import frame_of
from bedside.scoring.judging_batches import write_batch
from bedside.scoring.judging_orders import JudgingWork, rubrics_of
from bedside.scoring.run_judging import judge_run
from bedside.scoring.score import score
from tests.annotation.label_studio_stand_in import Studio, studio
from tests.annotation.rating_page.pages import opened, sent
from tests.annotation.study import SYSTEMS, USERS, exported, levels, new_study, rating_plan
from tests.durability.bench import CASES, Bench, made
from tests.durability.children import run
from tests.judges.llm.server import JudgeServer
from tests.judges.llm.test_batch_files import answer, write
from tests.metrics.coders.test_trained_coder import corpus

_PARAMS = [pytest.param(name, marks=[pytest.mark.soak_only] * (name == "pull")) for name in CASES]


@pytest.fixture(scope="session")
def study(tmp_path_factory: pytest.TempPathFactory, judge: str, label_studio: Studio) -> Path:
    """A folder with transcripts, a run that a judge and people rated, ratings to import, plans with answers."""
    folder = tmp_path_factory.mktemp("study")
    rated = new_study(folder, cases=3)
    (folder / "tuning").mkdir()
    talks, _ = (_by_people(run) for run in (rated, new_study(folder / "tuning", cases=12)))
    rows = [
        f"{talk[0]},{who},goal_alignment,{1 + place % 5}"
        for place, talk in enumerate(talks)
        for who in ("dora", "emil")
    ]
    (folder / "ratings.csv").write_text("\n".join(("item,rater,metric,value", *rows)) + "\n")
    plan = rating_plan(Run(rated.path))
    write_plan(plan, folder / "plan.json")
    (folder / "answers.json").write_text(json.dumps(exported(plan, levels, USERS, Run(rated.path))))
    (folder / "many.jsonl").write_text("".join(_talk(number) for number in range(120)))
    (folder / "study.key").write_bytes(bytes(range(32, 64)))
    (folder / "study.key").chmod(0o600)
    (folder / "coded.jsonl").write_text("".join(t.to_json().decode() + "\n" for t in corpus(8)))
    _judged(folder, judge)
    _answered(folder, label_studio)
    return folder


def _by_people(run: Run) -> list[tuple[str, ...]]:
    """Two people rate a run's transcripts."""
    talks = sorted(run.index.select("id", "system", "case_id").iter_rows())
    people = [
        (*talk, "transcript", "empathy", f"human:{who}", 0, float(1 + (place + other) % 5), None, None, None)
        for place, talk in enumerate(talks)
        for other, who in enumerate(("dora", "emil"))
    ]
    with run.locked():
        run.add(frame_of(people).lazy(), run.manifest)
    return talks


def _answered(folder: Path, label_studio: Studio) -> None:
    """A plan whose raters handed in on the rating page, and one whose raters answered on a server."""
    paged, pulled = (rating_plan(Run(folder / run)) for run in ("apart", "waiting"))
    write_plan(paged, folder / "page.json")
    write_plan(pulled, folder / "pull.json")
    push(pulled, Run(folder / "waiting"), LabelStudioClient(label_studio.url, "key"))
    state, page = opened(paged, Run(folder / "apart"))
    People(page.people).close()
    with closing(state):
        for item, raters in paged.raters_of.items():
            for rater in raters:
                state.save(rater, item, sent(choices={"empathy": "3", "goal_alignment": "2"}))
    for rater, items in pulled.assignment.items():
        label_studio.rate(rater, {"empathy": "3", "goal_alignment": "2"}, *items)


def _judged(folder: Path, judge: str) -> None:
    """A run whose judge's calls were exported, what a service answered to them, and a run judged elsewhere."""
    work = JudgingWork(rubrics_of(["empathy"]))
    waiting = score([folder / "in.jsonl"], folder / "waiting", metrics=["structure"]).run
    apart = score([folder / "in.jsonl"], folder / "apart", metrics=["structure"]).run
    write_batch(waiting, [judge], work, folder / "calls.jsonl")
    judge_run(apart, [folder / "in.jsonl"], [judge], work)
    answers = []
    for line in (folder / "calls.jsonl").read_text().splitlines():
        call = json.loads(line)
        address = judge.partition("/v1")[0] + call["url"]
        asked = urllib.request.Request(address, json.dumps(call["body"]).encode(), {"Content-Type": "application/json"})
        with urllib.request.urlopen(asked) as reply:
            answers.append(answer(call["custom_id"], json.loads(reply.read())))
    write(folder / "batch.jsonl", answers)


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


@pytest.fixture(scope="session")
def judge() -> Iterator[str]:
    """A judge on loopback that answers by the prompt alone."""
    with JudgeServer(latency=0.01) as server:
        yield server.judge


@pytest.fixture(scope="session")
def label_studio() -> Iterator[Studio]:
    """A stand-in for Label Studio, with the key that commands find."""
    with studio() as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("LABEL_STUDIO_API_KEY", "key")
        yield server


@pytest.fixture(params=_PARAMS, scope="package")
def bench(request: pytest.FixtureRequest, study: Path, judge: str, tmp_path_factory: pytest.TempPathFactory) -> Bench:
    folder, server = tmp_path_factory.mktemp(request.param), request.getfixturevalue("label_studio")
    return made(CASES[request.param], study, folder, judge=judge, studio=server.url)

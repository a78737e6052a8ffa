"""Adjudication and gold items on a real Label Studio: settled in a browser, pulled by status --live."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

from bedside.analysis.ratings_view import open_ratings_view
from bedside.annotation import label_studio_server as own
from bedside.annotation.adjudication import adjudicate
from bedside.annotation.annotation_plan import PlanItem
from bedside.annotation.label_studio_client import LabelStudioClient
from bedside.annotation.pull import pull
from bedside.annotation.push import push
from bedside.cli import app
from bedside.cli.plans import save_plan
from bedside.ratings.run import Run
from tests.annotation.study import level_of, levels, rating_plan
from tests.annotation.test_gold_items import gold_cases
from tests.annotation.test_label_studio import (  # noqa: F401
    _browser_of,
    answer,
    key,
    people,
    server,
    studio,
    tasks_of,
)

pytestmark = [pytest.mark.server, pytest.mark.slow]


def test_gold_is_answered_among_the_others_and_what_differs_is_settled_in_a_browser(
    run: Run,
    studio: own.OwnServer,  # noqa: F811
    server: LabelStudioClient,  # noqa: F811
    people: dict[str, Any],  # noqa: F811
    key: str,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plan = rating_plan(run, raters=("anna", "ben"), per=6, gold=gold_cases(tmp_path), gold_share=0.3, seed=11)
    push(plan, run, server)
    item_of = {task.id: task.data["external_id"] for task in tasks_of(server, plan)}
    for name, projects in server.projects(plan).items():
        ids = [task.id for tasks in server.tasks(projects).values() for task in tasks]
        assert sorted(item_of[task] for task in ids) == sorted(plan.assignment[name])
        for tasks in server.tasks(projects).values():
            for task in tasks:
                item = plan.by_id[task.data["external_id"]]
                said = levels(item.id, name)
                if not isinstance(item, PlanItem):
                    said = {rubric: str(known) for rubric, known in item.answers.items()}
                answer(people[name], task, said)
    save_plan(plan, run, tmp_path / "plan.json")
    monkeypatch.setenv("LABEL_STUDIO_API_KEY", key)
    arguments = ["annotate", "status", str(tmp_path / "plan.json"), "--run", str(run.path), "--live"]
    status = CliRunner().invoke(app, [*arguments, "--url", studio.url, "--json"])
    assert status.exit_code == 0, status.output
    tables = json.loads(status.stdout)
    assert "How raters keep up" in status.stdout, tables
    ratings = Run(run.path).ratings
    assert not [name for name in ratings["transcript_id"].unique() if name.startswith("known")]
    assert ratings.filter(pl.col("rater") == "human:anna", pl.col("metric") == "empathy").height == 6

    adjudication = adjudicate(Run(run.path), plan, ["cleo"], rubrics=["empathy"]).plan
    # Two raters whose levels differ by one wherever they can.
    assert len(adjudication.items) == sum(
        level_of(item.id, "anna") != level_of(item.id, "ben") for item in plan.items
    )
    (address,) = push(adjudication, run, server).projects.values()
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("no chromium here")
    with _browser_of(chromium, studio, "cleo") as page:
        page.goto(address)
        page.get_by_role("button", name="Label All Tasks").click()
        page.keyboard.press("Escape")
        for _ in adjudication.items:
            page.wait_for_selector(".bedside-right .lsf-choice")
            page.wait_for_timeout(1000)
            text = page.locator(".bedside-right").inner_text()
            assert "Rater 1: " in text
            assert "Rater 2: " in text
            assert not [name for name in ("anna", "ben", "GPT-Secret") if name in text.split()]
            page.locator(".bedside-rubric").nth(0).locator(".lsf-choice").nth(2).click()
            page.wait_for_timeout(300)
            with page.expect_response(
                lambda answered: answered.request.method == "POST" and "/annotations" in answered.url
            ) as said_there:
                page.get_by_test_id("bottombar-submit-button").click()
            assert said_there.value.ok
    pulled = pull(adjudication, run, server)
    assert pulled.stored.submitted == len(adjudication.items)
    assert set(open_ratings_view(run.path).final_labels("empathy").values()) == {3.0}
    again = pull(adjudication, run, server)
    assert (again.stored.new, again.stored.revised) == (0, 0)

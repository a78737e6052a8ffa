"""`bedside annotate pull` from a real Label Studio, killed at any moment."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bedside.annotation import label_studio_server as own
from bedside.annotation.label_studio_client import LabelStudioClient
from bedside.annotation.label_studio_projects import push
from bedside.annotation.plan_file import write_plan
from bedside.ratings.run import Run
from tests.annotation.study import levels, rating_plan
from tests.annotation.test_label_studio import RATERS, answer, people, studio, tasks_of
from tests.durability.bench import Bench, Case, made
from tests.durability.test_killed import test_at_every_event, test_at_random_moments
from tests.forked import preload
from tests.soak import budget

__all__ = ["people", "studio", "test_at_every_event", "test_at_random_moments"]
pytestmark = [pytest.mark.server, pytest.mark.slow, pytest.mark.soak, pytest.mark.studio]
preload("label_studio_sdk.client")


@pytest.fixture(scope="module")
def bench(
    study: Path, judge: str, studio: own.OwnServer, people: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Bench]:
    """A plan that is pushed and that its raters answered."""
    folder = tmp_path_factory.mktemp("pull")
    base = Path(shutil.copytree(study, folder / "study"))
    plan = rating_plan(Run(base / "run"), raters=RATERS, overlap=2, seed=47)
    write_plan(plan, base / "plan.json")
    key = studio.key_file.read_text().strip()
    server = LabelStudioClient(studio.url, key)
    push(plan, Run(base / "run"), server)
    tasks = {task.data["external_id"]: task for task in tasks_of(server, plan)}
    for item, raters in plan.raters_of.items():
        for rater in raters:
            answer(people[rater], tasks[item], levels(item, rater))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LABEL_STUDIO_API_KEY", key)
        call = f"annotate pull plan.json --url {studio.url} --run run"
        yield made(Case(call, reruns=budget(2, 6)), base, folder, judge)

"""A real Label Studio on this machine: tasks pushed, two people's answers pulled, beside a plain script with its SDK.

The plain script is what its documentation shows: a project, ``import_tasks`` with batches of the tasks, ready as they
are; then all tasks listed, or exported, and one row of a CSV file an answer. Bedside makes the tasks of the run, sees
what is there, checks page, tasks and answers, keeps every revision, and puts ratings into the run. Each is a process of
its own; both begin with an open connection. The answers are sent with their tasks, as Label Studio allows: handed in
one by one, each takes the server some tenths of a second.

Usage: python benchmarks/annotation.py [TASKS]
"""

from __future__ import annotations

import csv
import json
import multiprocessing
import socket
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from label_studio_sdk.client import LabelStudio

from bedside.annotation import label_studio_server as own
from bedside.annotation.items import label_studio_tasks
from bedside.annotation.label_studio_client import BATCH, LabelStudioClient
from bedside.annotation.label_studio_projects import pull, push
from bedside.annotation.labelling_page import labelling_page
from bedside.annotation.plan_file import read_plan, write_plan
from bedside.annotation.sampling import make_plan
from bedside.judges.rubrics.rubric_files import RUBRICS
from bedside.ratings.run import Run
from bedside.scoring.score import score

RATERS = ("anna", "ben")
RUBRIC_NAMES = ("empathy", "partnership")
_SINGLE = 40
_CONTEXT = multiprocessing.get_context("spawn")


class Place(NamedTuple):
    """Where all of it is: a folder with plan, run and tasks, and the server."""

    folder: Path
    url: str
    key: str

    @property
    def sdk(self) -> LabelStudio:
        return LabelStudio(base_url=self.url, api_key=self.key)


class Cost(NamedTuple):
    """What a step took of its own process: seconds, and megabytes beyond those it began with."""

    wall: float
    cpu: float
    megabytes: float

    def line(self, name: str, plain: Cost | None = None) -> str:
        beside = "" if plain is None else f"   {self.wall / plain.wall:.2f} × wall, {self.cpu / plain.cpu:.2f} × CPU"
        return f"{name:28}{self.wall:8.1f} s {self.cpu:8.1f} s CPU {self.megabytes:7.0f} MB{beside}"


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 5000
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        turns: list[dict[str, Any]] = [
            {"role": role, "speaker": role, "text": "How has the week been, and what did you make of it?", "meta": {}}
            for role in ("clinician", "patient") * 10
        ]
        lines = [json.dumps({"id": f"t{number}", "turns": turns}) for number in range(count)]
        (folder / "in.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
        run = score([folder / "in.jsonl"], folder / "run", metrics=["structure"]).run
        rubrics = tuple(map(RUBRICS.load, RUBRIC_NAMES))
        plan = make_plan(run, mode="rate", rubrics=rubrics, raters=RATERS, overlap=2, seed=1)
        write_plan(plan, folder / "plan.json")
        # Else bedside would know the plain script's project by its page and tasks.
        page = labelling_page(plan).replace('className="bedside ', 'className="plain ')
        (folder / "page.xml").write_text(page, "utf-8")
        (folder / "tasks.json").write_text(json.dumps(label_studio_tasks(plan, run)), "utf-8")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        studio = own.serve(folder / "server", raters=RATERS, port=port)
        try:
            _measure(Place(folder, studio.url, own.read_key(studio.folder)), count)
        finally:
            own.stop_server(studio.folder)


def _measure(place: Place, count: int) -> None:
    plain = _alone(partial(plain_push, place), "plain script pushes")
    _alone(partial(bedside_push, place, count), "bedside pushes", plain)
    _alone(partial(bedside_push, place, 0), "pushes again, all there")
    start = time.perf_counter()
    tasks = json.loads((place.folder / "tasks.json").read_text("utf-8"))[:_SINGLE]
    for task in tasks:
        place.sdk.projects.import_tasks(_project(place, "single").id, request=[task])
    print(f"{'one call a task':28}{(time.perf_counter() - start) / len(tasks) * count:8.1f} s for as many", flush=True)
    start = time.perf_counter()
    _answer(place)
    print(f"{f'{count * 2:,} answers made':28}{time.perf_counter() - start:8.1f} s", flush=True)
    exported = _alone(partial(plain_export, place), "plain script exports")
    listed = _alone(partial(plain_list, place), "plain script lists")
    plain = min(exported, listed)
    _alone(partial(bedside_pull, place, 2 * count), "bedside pulls", plain)
    _alone(partial(bedside_pull, place, 0), "pulls again, all there", plain)
    wanted = sorted((rater, RUBRIC_NAMES.index(metric), level) for rater, metric, level in _ratings(place))
    for name in ("exported.csv", "listed.csv"):
        with (place.folder / name).open(newline="", encoding="utf-8") as file:
            rows = [(f"human:{row[1]}", at, float(row[2 + at])) for row in csv.reader(file) for at in (0, 1)]
        assert sorted(rows) == wanted, name


def _alone(step: Callable[[], Callable[[], None]], name: str, plain: Cost | None = None) -> Cost:
    """Do a step in a process of its own, and print what it took."""
    here, other = _CONTEXT.Pipe()
    process = _CONTEXT.Process(target=_timed, args=(step, other))
    process.start()
    other.close()
    cost: Cost = here.recv()
    process.join()
    print(cost.line(name, plain), flush=True)
    return cost


def _timed(step: Callable[[], Callable[[], None]], answer: Any) -> None:
    work = step()
    before = _megabytes("VmRSS")
    start, used = time.perf_counter(), time.process_time()
    work()
    wall, cpu = time.perf_counter() - start, time.process_time() - used
    answer.send(Cost(wall, cpu, _megabytes("VmHWM") - before))


def _megabytes(field: str) -> float:
    """Of this process, as Linux counts it: what getrusage says is inherited from who started it."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field)) / 1024


def bedside_push(place: Place, count: int) -> Callable[[], None]:
    server = LabelStudioClient(place.url, place.key)

    def work() -> None:
        sent = push(read_plan(place.folder / "plan.json"), Run(place.folder / "run"), server).sent
        assert sent == count

    return work


def bedside_pull(place: Place, count: int) -> Callable[[], None]:
    server = LabelStudioClient(place.url, place.key)

    def work() -> None:
        new = pull(read_plan(place.folder / "plan.json"), Run(place.folder / "run"), server).stored.new
        assert new == count

    return work


def plain_push(place: Place) -> Callable[[], None]:
    client = place.sdk

    def work() -> None:
        tasks = json.loads((place.folder / "tasks.json").read_text("utf-8"))
        page = (place.folder / "page.xml").read_text("utf-8")
        project = client.projects.create(title="plain", label_config=page, maximum_annotations=2)
        for at in range(0, len(tasks), BATCH):
            client.projects.import_tasks(project.id, request=tasks[at : at + BATCH])

    return work


def plain_export(place: Place) -> Callable[[], None]:
    client, project = place.sdk, _project(place, "Rating")

    def work() -> None:
        raters = {user.id: user.email for user in client.users.list()}
        rows = [
            _row(task["data"], raters[annotation["completed_by"]], annotation["result"])
            for task in client.projects.exports.as_json(project.id)
            for annotation in task["annotations"]
        ]
        _write(place.folder / "exported.csv", rows)

    return work


def plain_list(place: Place) -> Callable[[], None]:
    client, project = place.sdk, _project(place, "Rating")

    def work() -> None:
        raters = {user.id: user.email for user in client.users.list()}
        rows = [
            _row(task.data, raters[annotation["completed_by"]], annotation["result"])
            for task in client.tasks.list(project=project.id, fields="all", page_size=BATCH)
            for annotation in task.annotations
        ]
        _write(place.folder / "listed.csv", rows)

    return work


def _row(data: dict[str, Any], email: str, result: list[dict[str, Any]]) -> tuple[str, ...]:
    said = {entry["from_name"]: entry["value"]["choices"][0] for entry in result if entry["type"] == "choices"}
    return data["external_id"], email.partition("@")[0], *(said[name] for name in RUBRIC_NAMES)


def _write(path: Path, rows: list[tuple[str, ...]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)


def _project(place: Place, title: str) -> Any:
    known = [project for project in place.sdk.projects.list() if project.title.startswith(title)]
    page = (place.folder / "page.xml").read_text("utf-8")
    return known[0] if known else place.sdk.projects.create(title=title, label_config=page)


def _answer(place: Place) -> None:
    """Both people answer every task, differing in a third of them: the tasks are sent again with their answers."""
    client, project = place.sdk, _project(place, "Rating")
    users = {user.email.partition("@")[0]: user.id for user in client.users.list()}
    tasks = json.loads((place.folder / "tasks.json").read_text("utf-8"))
    for number, task in enumerate(tasks):
        levels = [1 + (number + at * (number % 3 == 0)) % 5 for at in range(len(RATERS))]
        task["annotations"] = [
            {"completed_by": users[rater], "lead_time": 30.0, "result": _result((level, 6 - level))}
            for rater, level in zip(RATERS, levels, strict=True)
        ]
    client.tasks.delete_all_tasks(project.id)
    for at in range(0, len(tasks), BATCH):
        client.projects.import_tasks(project.id, request=tasks[at : at + BATCH])


def _result(levels: tuple[int, ...]) -> list[dict[str, Any]]:
    return [
        {"from_name": name, "to_name": "chat", "type": "choices", "value": {"choices": [str(level)]}}
        for name, level in zip(RUBRIC_NAMES, levels, strict=True)
    ]


def _ratings(place: Place) -> list[tuple[str, str, float]]:
    rows = Run(place.folder / "run").ratings
    rows = rows.filter(rows["metric"].is_in(RUBRIC_NAMES) & rows["rater"].str.starts_with("human:"))
    return list(rows.select("rater", "metric", "value").iter_rows())


if __name__ == "__main__":
    main()

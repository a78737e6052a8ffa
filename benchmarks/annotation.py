"""Pushing and pulling many tasks through a real Label Studio on this machine.

Push: 5,000 tasks, beside one call a task (timed on a few). Pull: their answers, from the server to ratings in the run.
Usage: python benchmarks/annotation.py [TASKS]
"""

from __future__ import annotations

import json
import socket
import sys
import tempfile
import time
from pathlib import Path

from bedside.annotation import label_studio_server as own
from bedside.annotation.label_studio_client import LabelStudioClient
from bedside.annotation.label_studio_projects import pull, push
from bedside.annotation.sampling import make_plan
from bedside.judges.rubrics.rubric_files import RUBRICS
from bedside.scoring.score import score

_SINGLE = 40


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 5000
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        turns = [
            {"role": role, "speaker": role, "text": "How has the week been, and what did you make of it?", "meta": {}}
            for role in ("clinician", "patient") * 10
        ]
        lines = [json.dumps({"id": f"t{number}", "turns": turns}) for number in range(count)]
        (folder / "in.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
        run = score([folder / "in.jsonl"], folder / "run", metrics=["structure"]).run
        plan = make_plan(run, mode="rate", rubrics=(RUBRICS.load("empathy"),), raters=("anna",), overlap=1, seed=1)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        studio = own.serve(folder / "server", raters=["anna"], port=port)
        try:
            _measure(plan, run, LabelStudioClient(studio.url, studio.key_file.read_text().strip()), count)
        finally:
            own.stop_server(studio.folder)


def _measure(plan, run, server: LabelStudioClient, count: int) -> None:  # type: ignore[no-untyped-def]
    start = time.perf_counter()
    assert push(plan, run, server).sent == count
    together = count / (time.perf_counter() - start)
    start = time.perf_counter()
    assert push(plan, run, server).sent == 0
    again = time.perf_counter() - start
    ((project,),) = server.projects(plan).values()
    anna = next(user.id for user in server.client.users.list() if user.email.startswith("anna@"))
    data = [copies[0].data for copies in server.tasks([project]).values()]
    start = time.perf_counter()
    for each in data[:_SINGLE]:
        server.client.projects.import_tasks(project.id, request=[{"data": each}])
    single = _SINGLE / (time.perf_counter() - start)
    server.client.tasks.delete_all_tasks(project.id)
    result = [{"from_name": "empathy", "to_name": "chat", "type": "choices", "value": {"choices": ["4"]}}]
    answers = [{"result": result, "completed_by": anna}]
    for at in range(0, count, 500):
        request = [{"data": each, "annotations": answers} for each in data[at : at + 500]]
        server.client.projects.import_tasks(project.id, request=request)
    start = time.perf_counter()
    assert pull(plan, run, server).stored.submitted == count
    pulled = count / (time.perf_counter() - start)
    print(f"push {count:,} tasks        {together:8.0f} tasks/s")
    print(f"one call a task         {single:8.1f} tasks/s   ratio {together / single:.0f}")
    print(f"push again, all there   {again:8.1f} s")
    print(f"pull into the run       {pulled:8.0f} annotations/s")


if __name__ == "__main__":
    main()

"""What a Label Studio server answers to a push and a pull, held in memory: quick, and as its interface is described."""

from __future__ import annotations

import itertools
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.annotation.study import USERS, results

_USER = {"username": "", "first_name": "", "last_name": "", "initials": ""}


class Studio:
    """A server's projects and tasks, which a test may change as their owner would.

    Attributes:
        url: its address.
        hangs: paths of this form are never answered.
        projects: by number; each with its tasks.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.hangs = ""
        self.projects: dict[int, dict[str, Any]] = {}
        self.ended = threading.Event()
        self._numbers = itertools.count()

    def answer(self, method: str, path: str, query: dict[str, list[str]], body: Any) -> Any:
        users = [{**_USER, "id": number, "email": f"{name}@example.org"} for name, number in USERS.items()]
        if path == "/api/current-user/whoami":
            return users[0]
        if path == "/api/users/":
            return users
        if path == "/api/tasks/":
            return self._listed(self.projects[int(query["project"][0])]["tasks"], query)
        if method == "DELETE":
            for project in self.projects.values():
                project["tasks"] = [task for task in project["tasks"] if path != f"/api/tasks/{task['id']}/"]
            return None
        if method == "GET" and path == "/api/projects/":
            listed = [self._shown(one) for one in self.projects.values() if query["page"] == ["1"]]
            return {"count": len(listed), "next": None, "previous": None, "results": listed}
        if method == "POST" and path == "/api/projects/":
            number = len(self.projects) + 1
            self.projects[number] = {**body, "id": number, "tasks": []}
            return self._shown(self.projects[number])
        found = re.search(r"/api/projects/(\d+)/", path)
        assert found is not None
        project = self.projects[int(found[1])]
        if method in ("GET", "PATCH"):
            project |= body or {}
            return self._shown(project)
        for task in body:
            entry = {"id": 1000 * project["id"] + next(self._numbers), "overlap": 1, "annotations": []}
            project["tasks"].append({**entry, "data": task["data"]})
        return {"task_count": len(body), "task_ids": [task["id"] for task in project["tasks"]]}

    def _shown(self, project: dict[str, Any]) -> dict[str, Any]:
        given = sum(len(task["annotations"]) for task in project["tasks"])
        counts = {"task_number": len(project["tasks"]), "total_annotations_number": given}
        return {name: value for name, value in project.items() if name != "tasks"} | counts

    def _listed(self, tasks: list[dict[str, Any]], query: dict[str, list[str]]) -> Any:
        if "query" in query or query["page"] != ["1"]:  # drafts: there are none
            return {"total": 0 if "query" in query else len(tasks), "tasks": []}
        counts = [{**task, "total_annotations": len(task["annotations"]), "cancelled_annotations": 0} for task in tasks]
        return {"total": len(tasks), "tasks": counts}

    def rate(self, rater: str, given: dict[str, Any], *items: str) -> None:
        """Have a rater answer items of a plan, all of them alike."""
        user, time = USERS[rater], "2026-03-01T10:00:00.000000Z"
        for task in (task for project in self.projects.values() for task in project["tasks"]):
            if task["data"]["external_id"] in items:
                task["annotations"].append({
                    "id": task["id"] * 10 + user, "unique_id": f"{task['id']}-{rater}", "completed_by": user,
                    "updated_by": user, "was_cancelled": False, "created_at": time, "updated_at": time,
                    "lead_time": 60.0, "result": results(given),
                })  # fmt: skip


@contextmanager
def studio() -> Iterator[Studio]:
    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            parts = urlsplit(self.path)
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if stand_in.hangs and re.search(stand_in.hangs, parts.path):
                stand_in.ended.wait()
                return
            said = stand_in.answer(self.command, parts.path, parse_qs(parts.query), json.loads(body or b"null"))
            reply = json.dumps(said).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(reply)))
            self.end_headers()
            self.wfile.write(reply)

        do_GET = do_POST = do_PATCH = do_DELETE = answer  # noqa: N815

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    stand_in = Studio(f"http://127.0.0.1:{server.server_address[1]}")
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield stand_in
    finally:
        stand_in.ended.set()
        server.shutdown()
        server.server_close()

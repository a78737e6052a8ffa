"""Raters over the network while the server is killed: no acknowledged answer is lost or doubled."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import httpx
import pytest

import bedside
from bedside.annotation.answer_store import read_store
from bedside.annotation.reassignment import as_assigned
from bedside.core.errors import InputError, RunError
from bedside.ratings.names import rated_by_humans
from bedside.ratings.run import Run
from tests.annotation.rating_page.pages import ServedPage, serving
from tests.annotation.study import new_study, rating_plan
from tests.soak import budget

pytestmark = [pytest.mark.server, pytest.mark.slow, pytest.mark.soak]


class Rater(threading.Thread):
    """Somebody who hands in what is open, as a browser sends it: again and again by the same mark, until it is kept.

    Attributes:
        kept: item → the level that the server acknowledged.
        fault: what went wrong with them.
    """

    def __init__(self, page: ServedPage, name: str, leaves_after: int | None, done: threading.Event) -> None:
        super().__init__(daemon=True)
        self.page, self.rater, self.leaves_after, self.done = page, name, leaves_after, done
        self.rng = random.Random(name)
        self.kept: dict[str, str] = {}
        self.fault: BaseException | None = None

    def ask(self, method: str, path: str, body: Any = None) -> httpx.Response | None:
        headers = {"Authorization": f"Bearer {self.page.secret(self.rater)}", "Origin": self.page.address}
        while not self.done.is_set():
            try:
                answer = httpx.request(method, self.page.address + path, json=body, headers=headers, timeout=20)
                if answer.status_code < 500:
                    return answer
            except httpx.TransportError:
                pass
            time.sleep(0.1)
        return None

    def run(self) -> None:
        try:
            while not self.done.is_set() and self.leaves_after != len(self.kept):
                self.works()
                time.sleep(0.2)
            # Who leaves has something open.
            self.ask("GET", "/share")
        except BaseException as error:
            self.fault = error

    def works(self) -> None:
        share = self.ask("GET", "/share")
        for item in share.raise_for_status().json()["items"] if share else ():
            if item["handed_in"] is None and self.leaves_after != len(self.kept):
                level = str(self.rng.randint(1, 5))
                body = {
                    "state": "submitted", "version": 0, "mark": f"{self.rater}-{item['item']}", "seconds": 3,
                    "choices": {"empathy": [level], "goal_alignment": ["2"]}, "texts": {},
                }  # fmt: skip
                kept = self.ask("PUT", f"/items/{item['item']}", body)
                if kept is not None and kept.status_code == 200:
                    self.kept[item["item"]] = level
                elif kept is not None:
                    # Meanwhile somebody else's, or kept already by an attempt whose reply was lost.
                    assert kept.status_code in (404, 409), kept.text
                time.sleep(self.rng.uniform(0, 0.05))


def drops_out(page: ServedPage, rater: str, to: list[str]) -> None:
    """Others take over; the server may hold the run at that moment."""
    for attempt in range(50):
        try:
            bedside.reassign(page.plan_file, rater, to=to)
            return
        except InputError:
            # Nothing was open: by need, what they would have had goes to others a day later.
            return
        except RunError:
            assert attempt < 49
            time.sleep(0.3)


@pytest.mark.parametrize("by_need", [False, True][: budget(1, 2)])
def test_a_killed_server_loses_and_doubles_nothing(tmp_path: Path, by_need: bool) -> None:
    people, kills = budget(6, 20), budget(1, 5)
    run = new_study(tmp_path, cases=min(budget(6, 60), 60))
    names = tuple(f"r{number}" for number in range(min(people, 20)))
    plan = rating_plan(run, raters=names, overlap=2)
    rng, done = random.Random(people + by_need), threading.Event()
    leaves = dict.fromkeys(rng.sample(names, round(0.3 * len(names))), rng.randint(1, 3))
    with serving(plan, run, *(("--until", "mean±.001") if by_need else ())) as page:
        raters = [Rater(page, name, leaves.get(name), done) for name in names]
        for rater in raters:
            rater.start()
        for _ in range(min(kills, 5)):
            time.sleep(rng.uniform(0.3, 1.5))
            page.kill()
            page.start()
        for rater in raters:
            if rater.rater in leaves:
                rater.join(60)
                drops_out(page, rater.rater, [name for name in names if name not in leaves])
        deadline = time.monotonic() + budget(60, 400)
        wanted = sum(map(len, plan.assignment.values()))
        while sum(len(rater.kept) for rater in raters) < wanted and time.monotonic() < deadline:
            time.sleep(0.2)
        done.set()
        for rater in raters:
            rater.join(30)
        code, printed = page.stop()
    assert [rater.fault for rater in raters if rater.fault] == []
    assert code == 0, printed
    assert "Traceback" not in printed
    now, opened = as_assigned(run, plan), Run(run.path)
    answers = read_store(opened, now).answers()
    acknowledged = {(item, rater.rater): level for rater in raters for item, level in rater.kept.items()}
    assert {key: answer.choices["empathy"][0] for key, answer in answers.items()} == acknowledged
    rows = opened.ratings.filter(rated_by_humans())
    assert rows.height == 2 * len(acknowledged) == rows.select("transcript_id", "rater", "metric").n_unique()
    assert {rater for _, rater in answers} >= set(leaves)
    # Each item has its two raters, or its lack is told.
    raters_of = Counter(item for item, _ in answers)
    short = wanted - sum(raters_of.values())
    assert max(raters_of.values()) == 2
    (told,) = bedside.annotation_status(page.plan_file).results
    assert sum(share.open for share in told.results.shares if share.stratum is None) == (0 if by_need else short)
    assert short == 0 or by_need

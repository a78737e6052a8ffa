"""The researcher's page and the queue of what raters differ on, over the network, while raters rate."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import polars as pl
import pytest

from bedside.analysis.ratings_view import open_ratings_view
from bedside.analysis.validation import validate
from bedside.annotation.adjudication import adjudications_of
from bedside.annotation.answer_store import keep_answers
from bedside.annotation.plan_file import read_plan
from bedside.annotation.rating_page.adjudication_queue import AdjudicationQueue
from bedside.annotation.rating_page.page_folder import RESEARCHER, page_folder
from bedside.annotation.rating_page.page_server import serve_page
from bedside.annotation.rating_page.page_state import PageState
from bedside.annotation.reassignment import reassign
from bedside.annotation.study_targets import read_targets, target_states
from bedside.api.annotating import annotation_status
from bedside.core.page_serving import PagePlace
from bedside.ratings.run import Run
from bedside.reports.renderers.html import html
from tests.annotation.builders import rater_answer
from tests.annotation.rating_page.pages import ServedPage, sent, serving
from tests.annotation.study import new_study, rating_plan
from tests.conftest import Call, works
from tests.durability import children

pytestmark = [pytest.mark.server, pytest.mark.slow]

RATERS = ("anna", "ben", "cleo")
PAIR = ("anna", "ben")


class Browser:
    """What browsers would ask of a served page."""

    def __init__(self, page: ServedPage) -> None:
        self.page = page
        self.client = httpx.Client(base_url=page.address, timeout=60)

    def headers(self, name: str) -> dict[str, str]:
        link = self.page.researcher if name == "?" else self.page.links[name]
        return {"Authorization": f"Bearer {link.partition('#')[2]}", "Origin": self.page.address}

    def get(self, name: str, path: str) -> Any:
        return self.client.get(path, headers=self.headers(name)).raise_for_status().json()

    def items(self, name: str) -> list[dict[str, Any]]:
        return list(self.get(name, "/share")["items"])

    def hand_in(self, name: str, item: str, choices: Mapping[str, str], seconds: float = 30, **texts: str) -> None:
        version = self.get(name, f"/items/{item}")["entry"]["version"]
        body = {
            "state": "submitted", "version": version, "mark": f"{name}-{item}-{version}", "seconds": seconds,
            "choices": {field: [choice] for field, choice in choices.items()},
            "texts": {field: [text] for field, text in texts.items()},
        }  # fmt: skip
        self.client.put(f"/items/{item}", headers=self.headers(name), json=body).raise_for_status()

    def until(self, name: str, path: str, holds: Callable[[Any], bool]) -> Any:
        """What is answered once something holds of it."""
        deadline = time.monotonic() + 60
        while not holds(answer := self.get(name, path)):
            assert time.monotonic() < deadline, answer
            time.sleep(0.3)
        return answer


def levels(empathy: int, goal: int = 3) -> dict[str, str]:
    return {"empathy": str(empathy), "goal_alignment": str(goal)}


def table(study: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    return next(dict(table) for table in study["tables"] if table["name"] == name)


def done(study: Mapping[str, Any]) -> dict[str, int]:
    return {row["rater"]: row["done"] for row in table(study, "status")["rows"] if row["stratum"] is None}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedPage]:
    """Three raters of each of 24 items, and dora, who settles what they differ on."""
    run = new_study(tmp_path_factory.mktemp("watched"), cases=12)
    with serving(rating_plan(run, overlap=3), run, "--adjudicator", "dora") as page:
        yield page


@pytest.fixture
def browser(served: ServedPage) -> Browser:
    return Browser(served)


def test_each_link_opens_its_own_only(served: ServedPage, browser: Browser) -> None:
    item = browser.items("anna")[0]["item"]
    for name, path in (("anna", "/study"), ("dora", "/study"), ("?", "/share"), ("?", f"/items/{item}")):
        answer = browser.client.get(path, headers=browser.headers(name))
        assert (answer.status_code, answer.json()) == (403, {"error": "This link doesn't open that."})
    body = {"state": "draft", "version": 0, "mark": "a" * 32, "seconds": 1, "choices": {}, "texts": {}}
    assert browser.client.put(f"/items/{item}", headers=browser.headers("?"), json=body).status_code == 403
    assert browser.client.get(f"/items/{item}", headers=browser.headers("dora")).status_code == 404
    for headers in ({}, {"Authorization": "Bearer ?"}, {"Authorization": f"Bearer {'x' * 43}"}):
        assert browser.client.get("/study", headers=headers).status_code == 401
    links = page_folder(served.run, read_plan(served.plan_file)).links_file
    assert set(json.loads(links.read_bytes())["raters"]) == {*RATERS, "dora", "?"}
    assert links.stat().st_mode & 0o77 == 0
    # The page itself says nothing of the study.
    page = browser.client.get("/files/study.html").text
    assert "anna" not in page
    assert "mpathy" not in page


def shared_items(study: dict[str, Any]) -> set[int]:
    """The items of each figure of agreement."""
    return {row["n"] for shown in study["tables"] if shown["name"] == "agreement" for row in shown["rows"]}


def test_the_page_has_the_numbers_of_the_command_to_the_last_digit(
    served: ServedPage, browser: Browser, call: Call
) -> None:
    before = browser.get("?", "/study")
    assert done(before) == dict.fromkeys(RATERS, 0)
    for place, item in enumerate(sorted(one["item"] for one in browser.items("anna"))):
        browser.hand_in("anna", item, levels(1 + place % 5), seconds=20 + place)
        if place < 15:
            browser.hand_in("ben", item, levels(1 + (place + place // 10) % 5), seconds=33)
    # Answers are in the store a moment before their ratings are in the run.
    study = browser.until("?", "/study", lambda study: not study["waiting"] and 15 in shared_items(study))
    assert done(study) == {"anna": 24, "ben": 15, "cleo": 0}
    assert study["error"] is None
    assert study["lines"] == []
    rows = {row["rater"]: row for row in table(study, "status")["rows"]}
    assert [rows[name]["median_seconds"] for name in RATERS] == [31.5, 33.0, None]
    assert [rows[name]["seconds_left"] for name in RATERS] == [0.0, 9 * 33.0, None]
    # The very same, of the command and of Python.
    printed = json.loads(works(call, "annotate", "status", served.plan_file, "--json")[0])
    printed = printed if isinstance(printed, list) else printed["tables"]
    assert [(one["table"], one["title"], one["rows"]) for one in printed] == [
        (one["name"], one["title"], one["rows"]) for one in study["tables"]
    ]
    tables = annotation_status(served.plan_file)
    assert [one["html"] for one in study["tables"]] == list(map(html, tables))
    agreement = table(study, "agreement")
    assert {row["metric"] for row in agreement["rows"]} == {"empathy", "goal_alignment"}
    # 15 items of two raters, of whom the second is one level up in the last five.
    assert "5.0 min" in works(call, "annotate", "status", served.plan_file)[0]


def test_nobody_is_named_by_another_name(served: ServedPage, browser: Browser) -> None:
    shown = json.dumps(browser.get("?", "/study"))
    assert "GPT-Secret" not in shown
    assert "hushcase" not in shown
    secrets = [link.partition("#")[2] for link in (*served.links.values(), served.researcher)]
    assert not [secret for secret in secrets if secret in shown]


def test_raters_are_answered_while_the_numbers_are_computed(tmp_path: Path) -> None:
    run = new_study(tmp_path)
    plan = rating_plan(run)
    folder = page_folder(run, plan)
    folder.make()
    state = PageState(plan, run, folder, others=(RESEARCHER,))
    secrets = folder.links.secrets(["anna", RESEARCHER])
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        place = PagePlace(port=probe.getsockname()[1])
    computing = threading.Event()

    def study() -> dict[str, Any]:
        computing.wait(20)
        return {"tables": []}

    async def visit() -> None:
        started = asyncio.Event()
        page = serve_page(state, place, folder, run, started=started.set, say=print, study=study)
        task = asyncio.create_task(page)
        await started.wait()
        async with httpx.AsyncClient(base_url=place.address, timeout=30) as client:

            def ask(name: str, path: str) -> Any:
                return client.get(path, headers={"Authorization": f"Bearer {secrets[name]}"})

            watched = asyncio.create_task(ask(RESEARCHER, "/study"))
            for _ in range(20):
                assert (await ask("anna", "/share")).json()["rater"] == "anna"
            assert not watched.done()
            computing.set()
            assert (await watched).json() == {"tables": []}
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(visit())
    state.database.close()


def test_what_does_not_get_into_the_run_is_said(served: ServedPage, browser: Browser) -> None:
    item = browser.items("anna")[1]["item"]
    browser.until("?", "/study", lambda study: not study["waiting"])
    with Run(served.run.path).locked():
        browser.hand_in("anna", item, levels(5), notes="held")
        study = browser.until("?", "/study", lambda study: bool(study["lines"]))
        assert study["waiting"] == 1
        assert abs((datetime.fromisoformat(study["since"]) - datetime.now(UTC)).total_seconds()) < 60
        assert study["lines"][-1]["text"].startswith("Answers are kept, and not in the run yet: ")
    study = browser.until("?", "/study", lambda study: not study["waiting"])
    study = browser.until("?", "/study", lambda study: study["lines"][-1]["text"] == "Answers go into the run again.")
    assert study["since"] is None


def test_targets_stand_there_where_the_study_has_some(
    served: ServedPage, browser: Browser, call: Call, tmp_path: Path
) -> None:
    assert "targets" not in [one["name"] for one in browser.get("?", "/study")["tables"]]
    run = new_study(tmp_path, cases=12)
    plan = rating_plan(run, raters=PAIR, overlap=2)
    with serving(plan, run, "--until", "mean±.3,empathy kappa±.2", "--seed", "3") as page:
        raters = Browser(page)
        assert [row["items"] for row in table(raters.get("?", "/study"), "targets")["rows"]] == [0] * 5
        for number in range(12):
            for name, level in (("anna", 1 + number % 4), ("ben", 1 + (number + number % 2) % 5)):
                item = next(one["item"] for one in raters.items(name) if one["handed_in"] is None)
                raters.hand_in(name, item, levels(level), seconds=20)
        study = raters.until("?", "/study", lambda study: not study["waiting"] and sum(done(study).values()) == 24)
        shown = table(study, "targets")["rows"]
        assert page.stop()[0] == 0
    states = target_states(Run(run.path), plan, read_targets("mean±.3,empathy kappa±.2"), seed=3)
    assert [(row["metric"], row["system"], row["statistic"]) for row in shown] == [
        (state.metric, state.system, state.statistic) for state in states
    ]
    for row, state in zip(shown, states, strict=True):
        interval = (None, None) if state.interval is None else (state.interval.low, state.interval.high)
        assert (row["estimate"], row["low"], row["high"], row["half_width"]) == (
            state.estimate, *interval, state.half_width
        )  # fmt: skip
        assert (row["wanted"], row["reached"], row["more"]) == (state.target.half_width, state.reached, state.more)
        assert (row["items"], row["of"]) == (state.items, state.of)
    assert any(row["estimate"] is not None for row in shown)
    printed = json.loads(works(call, "annotate", "status", page.plan_file, "--seed", "3", "--json")[0])
    printed = printed if isinstance(printed, list) else printed["tables"]
    assert next(one["rows"] for one in printed if one["table"] == "targets") == shown
    assert "Is it precise enough?" in works(call, "annotate", "status", page.plan_file)[0]


# -- What raters differ on ------------------------------------------------------------------------------


def test_the_queue_fills_itself_and_a_kill_loses_nothing(tmp_path: Path) -> None:
    """Three raters differ on two of three items they have all answered; dora settles while they go on."""
    run = new_study(tmp_path, cases=12)
    plan = rating_plan(run, overlap=3)
    with serving(plan, run, "--adjudicator", "dora") as served:
        browser = Browser(served)
        assert browser.get("dora", "/share")["items"] == []
        first, second, third, fourth, *_ = sorted(item.id for item in plan.items)
        said = {first: (1, 4, 2), second: (3, 3, 3), third: (2, 2, 5), fourth: (1, 5, None)}
        for item, given in said.items():
            for rater, level in zip(RATERS, given, strict=True):
                if level is not None:
                    browser.hand_in(rater, item, levels(level), reason__empathy="because")
        queued = browser.until("dora", "/share", lambda share: len(share["items"]) > 0)
        assert queued["queue"]
        unit = {item.id: item.transcript for item in plan.items}

        def transcripts() -> list[str]:
            return [other.transcript for one in adjudications_of(Run(run.path), plan) for other in one.items]

        # Not what they agree on, and not what cleo has still to answer.
        assert sorted(transcripts()) == sorted([unit[first], unit[third]])
        shown = json.dumps([browser.get("dora", f"/items/{one['item']}") for one in queued["items"]])
        assert not [name for name in (*RATERS, "GPT-Secret", "hushcase") if name in shown]
        opinions = browser.get("dora", f"/items/{queued['items'][0]['item']}")["opinions"]
        assert list(opinions) == ["empathy"]
        assert {opinion["reason"] for opinion in opinions["empathy"]} == {"because"}
        settled = queued["items"][0]["item"]
        browser.hand_in("dora", settled, {"empathy": "4"})
        draft = {"state": "draft", "version": 0, "mark": "d" * 32, "seconds": 2, "choices": {"empathy": ["2"]}}
        left = queued["items"][1]["item"]
        headers = browser.headers("dora")
        assert browser.client.put(f"/items/{left}", headers=headers, json={**draft, "texts": {}}).status_code == 200
        served.kill()
        served.start()
        browser = Browser(served)
        share = browser.get("dora", "/share")
        assert [(one["item"], one["state"]) for one in share["items"]] == [(settled, "submitted"), (left, "draft")]
        # Cleo answers the fourth: it comes, too, at the end of the list.
        browser.hand_in("cleo", fourth, levels(3))
        share = browser.until("dora", "/share", lambda share: len(share["items"]) == 3)
        assert [one["item"] for one in share["items"]][:2] == [settled, left]
        assert transcripts()[2] == unit[fourth]
        study = browser.until(
            "?", "/study", lambda study: "settling" in [one["name"] for one in study["tables"]] and not study["waiting"]
        )
        (row,) = table(study, "settling")["rows"]
        assert (row["rater"], row["assigned"], row["done"], row["open"]) == ("dora", 3, 1, 2)
        # Anna changes her mind on what was settled.
        plan_item = next(name for name, of in unit.items() if of == transcripts()[0] or of == transcripts()[1])
        assert plan_item in said
        for item in (first, third):
            browser.hand_in("anna", item, levels(3))
        browser.until("?", "/study", lambda study: "changed by raters since: 1." in table(study, "settling")["html"])
        browser.hand_in("dora", left, {"empathy": "2"})
        assert served.stop()[0] == 0
    final = Run(run.path).ratings.filter(pl.col("metric") == "empathy.adjudicated").sort("value")
    assert final.select("rater", "value").rows() == [("human:dora", 2.0), ("human:dora", 4.0)]
    assert set(final["transcript_id"]) == {unit[first], unit[third]}
    # Final labels stand where there are any: of what a judge is compared with, two are dora's.
    (card,) = validate(open_ratings_view(run.path), metrics=["empathy"])[0].validations
    assert (card.with_people, card.adjudicated) == (4, 2)
    left_over = sorted(path.name for path in page_folder(run, adjudications_of(run, plan)[0]).path.iterdir())
    assert left_over == ["answers.sqlite"]


def test_who_rates_cannot_settle(tmp_path: Path) -> None:
    run = new_study(tmp_path)
    page = ServedPage(rating_plan(run), run)
    for options, words in (
        (["--adjudicator", "Anna"], "Anna is a rater of the plan"),
        (["--beyond", "1"], "nobody settles anything"),
        (["--adjudicator", "dora", "--rubrics", "nonsense"], "there is no rubric"),
    ):
        code, said, _ = children.run(page.call(*options), tmp_path)
        assert code == 2
        assert words in said
        assert "Traceback" not in said


def test_what_an_adjudicator_came_to_rate_stays_out_of_the_queue(tmp_path: Path) -> None:
    """Dora takes over an item of ben's while the page is served: she can't settle that one."""
    run = new_study(tmp_path)
    plan = rating_plan(run, raters=PAIR, overlap=2)
    queue = AdjudicationQueue(plan, run, ("dora",))
    first, second, third, *others = (item.id for item in plan.items)
    keep_answers(run, plan, [rater_answer(item, "ben", levels(5), seconds=9.0) for item in (first, second, *others)])
    now = reassign(Run(run.path), plan, "ben", ["dora"]).plan
    assert now.assignment["dora"] == (third,)
    answers = [rater_answer(item, "anna", levels(2), seconds=9.0) for item in (first, third)]
    keep_answers(Run(run.path), now, [*answers, rater_answer(third, "dora", levels(4), seconds=9.0)])
    queue.fill(now, {})
    queue.take_up()
    (other,) = adjudications_of(run, plan)
    assert [item.transcript for item in other.items] == [now.by_id[first].transcript]
    assert len(queue.share("dora")["items"]) == 1
    queue.fill(now, {})
    assert len(adjudications_of(run, plan)) == 1
    queue.close()


def test_who_settles_is_shown_the_help_of_a_study_that_people_enrol_in(tmp_path: Path) -> None:
    run = new_study(tmp_path)
    plan = rating_plan(run, raters=("rater-1", "rater-2"), overlap=2)
    file = tmp_path / "study.yaml"
    file.write_text("title: T\ninformation: I\nconsent: [Yes.]\nhelp: Call 112.\n", "utf-8")
    with serving(plan, run, "--study", str(file), "--adjudicator", "dora") as page:
        share = Browser(page).get("dora", "/share")
    assert share["study"]["help"] == "<p>Call 112.</p>\n"
    assert (share["study"]["can_withdraw"], share["study"]["until"], share["stage"]) == (False, None, "rating")


def test_where_much_is_open_no_further_plan_is_made(tmp_path: Path) -> None:
    run = new_study(tmp_path, cases=12)
    plan = rating_plan(run, raters=PAIR, overlap=2)
    queue = AdjudicationQueue(plan, run, ("dora",), rubrics=["empathy"], beyond=1)
    items = [item.id for item in plan.items]

    def rate(names: list[str], gap: int) -> None:
        for rater, level in (("anna", 1), ("ben", 1 + gap)):
            said = [rater_answer(item, rater, levels(level, level), seconds=9.0) for item in names]
            keep_answers(Run(run.path), plan, said)
        queue.fill(plan, queue.last_revisions())
        queue.take_up()

    def sizes() -> list[int]:
        return [len(other.items) for other in adjudications_of(run, plan)]

    rate(items[:2], 1)
    assert sizes() == []
    rate(items[2:6], 3)
    assert sizes() == [4]
    rate(items[6:14], 2)
    assert sizes() == [4, 8]
    rate(items[14:16], 4)
    assert sizes() == [4, 8]
    share = queue.share("dora")["items"]
    for item in share[:3]:
        queue.save("dora", item["item"], sent(choices={"empathy": "3"}))
    queue.fill(plan, queue.last_revisions())
    queue.take_up()
    assert sizes() == [4, 8, 2]
    assert [one["item"] for one in queue.share("dora")["items"]][:12] == [one["item"] for one in share]
    assert Run(run.path).ratings.filter(metric="empathy.adjudicated")["value"].to_list() == [3.0] * 3
    assert {question["name"] for question in queue.share("dora")["questions"]} == {"empathy", "goal_alignment"}
    queue.close()


def test_who_is_rater_1_is_drawn_anew_in_each_further_plan(tmp_path: Path) -> None:
    run = new_study(tmp_path, cases=20)
    plan = rating_plan(run, raters=PAIR, overlap=2)
    queue = AdjudicationQueue(plan, run, ("dora",))
    firsts = []
    for item in plan.items[:24]:
        levels_of = {"anna": 1, "ben": 5}
        answers = [rater_answer(item.id, rater, levels(level), seconds=9.0) for rater, level in levels_of.items()]
        keep_answers(Run(run.path), plan, answers)
        queue.fill(plan, queue.last_revisions())
        queue.take_up()
        *_, last = adjudications_of(run, plan)
        (opinions,) = last.opinions.values()
        firsts.append(opinions["empathy"][0].answer)
        queue.save("dora", last.items[0].id, sent(choices={"empathy": "3"}))
    queue.close()
    assert 6 <= firsts.count("1") <= 18

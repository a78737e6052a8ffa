"""A hundred people of a recruiting service come to a page that is served, and are killed out of it in between."""

from __future__ import annotations

import csv
import io
import os
import queue
import random
import sqlite3
import stat
import threading
import time
from collections import Counter
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import orjson
import pytest

import bedside
from bedside.annotation.annotation_plan import KnownItem
from bedside.annotation.answer_store import read_store
from bedside.annotation.plan_file import read_plan
from bedside.annotation.rating_page.page_folder import page_folder
from bedside.annotation.rating_page.study_people import People
from bedside.annotation.reassignment import as_assigned, need_of
from bedside.annotation.study_targets import read_targets, target_states
from bedside.annotation.training_cases import read_training
from bedside.ratings.names import rated_by_humans
from bedside.ratings.run import Run
from tests.annotation.builders import gold_file
from tests.annotation.rating_page.pages import ServedPage, serving
from tests.annotation.rating_page.recruiting import Participant, enrolment_secret, known_levels, new_pid, write_study
from tests.annotation.study import EMPATHY, GOAL, new_study, rating_plan

pytestmark = [pytest.mark.server, pytest.mark.slow]

#: How many do what, of a hundred; a share holds four items, and two people rate each.
KINDS = {
    "questionnaire": 15, "training": 15, "return": 15, "time out": 10, "two devices": 5, "second set": 8, "plain": 32,
}  # fmt: skip
SHARES, EACH = 45, 4


def _time_passes(person: Participant) -> None:
    """Until the person's time is over: nobody here waits for two hours."""
    plan = read_plan(person.page.plan_file)
    with closing(People(page_folder(person.page.run, plan).people)) as people:
        over = people._connection.execute(
            "UPDATE persons SET until = '2026-01-01T00:00:00.000+00:00' WHERE person = ?", (f"id:{person.pid}",)
        )
        assert over.rowcount == 1


def _takes_part(person: Participant, kind: str, rng: random.Random) -> None:
    while not person.agree():
        assert person.ending is not None
        assert (person.ending["kind"], person.ending["code"]) == ("full", "C4")
        time.sleep(1)
    if kind == "questionnaire":
        person.ending = person.answer("not yet")["study"]["ending"]
        return
    if kind == "return" and rng.random() < 0.2:
        _time_passes(person)
        return
    share = person.answer("longer")
    # Somebody may have left a part of the share before: who leaves it now leaves an item or more.
    left = sum(not item["training"] for item in share["items"])
    if kind == "return":
        person.rate(rng.randrange(left))
        _time_passes(person)
    elif kind == "time out":
        person.rate(rng.randrange(left))
        _time_passes(person)
        person.ending = person.share()["study"]["ending"]
    elif kind == "two devices":
        other = Participant(person.page, person.enrolment, person.pid, person.known, device="b")
        both = [threading.Thread(target=one.rate) for one in (person, other)]
        assert other.agree()
        assert other.secret == person.secret
        for device in both:
            device.start()
        for device in both:
            device.join()
    else:
        person.rate()


def _all_take_part(page: ServedPage, people: list[tuple[Participant, str]], workers: int = 10) -> None:
    """So many at a time; the server is killed meanwhile."""
    waiting: queue.SimpleQueue[tuple[Participant, str]] = queue.SimpleQueue()
    faults: list[BaseException] = []
    for person in people:
        waiting.put(person)

    def work() -> None:
        while True:
            try:
                person, kind = waiting.get_nowait()
            except queue.Empty:
                return
            try:
                _takes_part(person, kind, random.Random(person.pid))
            except BaseException as error:
                faults.append(error)

    threads = [threading.Thread(target=work) for _ in range(workers)]
    for thread in threads:
        thread.start()
    while waiting.qsize() > len(people) // 2 and not faults:
        time.sleep(0.05)
    page.kill()
    page.start()
    for thread in threads:
        thread.join()
    assert not faults, faults


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("prolific")
    run = new_study(folder, cases=45)
    training = read_training(gold_file(folder, 2), "rate", (EMPATHY, GOAL))
    again = read_training(gold_file(folder, 2, "second"), "rate", (EMPATHY, GOAL))
    raters = tuple(f"rater-{number}" for number in range(1, SHARES + 1))
    plan = rating_plan(
        run, raters=raters, overlap=2, share_size=EACH, by=["system"], training=training, training_again=again,
        training_kappa=0.6,
    )  # fmt: skip
    assert len(plan.items) == SHARES * EACH // 2
    file = write_study(folder / "study")
    rng = random.Random(39)
    with serving(plan, run, "--study", str(file)) as page:
        enrolment, known = enrolment_secret(page), known_levels(plan)
        people = []
        for kind, count in KINDS.items():
            right = {"training": (False, False), "second set": (False, True)}.get(kind, (True, True))
            people += [(Participant(page, enrolment, new_pid(rng), known, right), kind) for _ in range(count)]
        early, late = people[:55], people[55:]
        rng.shuffle(early)
        rng.shuffle(late)
        # Were the last share done before who leaves one has come, they would find none.
        for wave in (early, late):
            _all_take_part(page, wave)
        code, printed = page.stop()
        assert code == 0, printed
        assert "Traceback" not in page.output + printed
    return page, plan, people


def _persons(page: ServedPage) -> dict[str, dict[str, Any]]:
    """PROLIFIC_PID → the row of the person."""
    plan = read_plan(page.plan_file)
    with closing(sqlite3.connect(page_folder(page.run, plan).people)) as database:
        database.row_factory = sqlite3.Row
        rows = [dict(row) for row in database.execute("SELECT * FROM persons ORDER BY number")]
    return {orjson.loads(row["parameters"])["PROLIFIC_PID"]: row for row in rows}


def test_everybody_gets_the_right_code(study: Any) -> None:
    page, _, people = study
    rows = _persons(page)
    assert len(rows) == len(people) == 100
    states = {
        "questionnaire": "screened_out", "training": "screened_out", "return": "timed_out", "time out": "timed_out",
    }  # fmt: skip
    for person, kind in people:
        state, row = states.get(kind, "completed"), rows[person.pid]
        assert row["state"] == state, (kind, row["state"])
        if kind == "return":
            assert person.ending is None
            continue
        assert person.ending is not None, kind
        assert person.ending["kind"] == state
        assert (person.ending["code"], person.ending["link"]) == {
            "completed": (None, f"https://app.example.org/complete?cc=C1&id={person.pid}"),
            "screened_out": (f"C2-{row['code']}", None),
            "timed_out": ("C3", None),
        }[state]
        assert person.ending["debriefing"] == "<p><strong>Thank you.</strong></p>\n"
    assert len({row["code"] for row in rows.values()}) == 100
    # Who has two devices is one person, and one of two hand-ins of an item is refused where both came.
    assert len({row["rater"] for row in rows.values()}) == 100


def test_shares_are_filled_exactly_and_nobody_has_two(study: Any) -> None:
    page, plan, _ = study
    run = Run(page.run.path)
    answers = read_store(run, as_assigned(run, plan)).answers()
    rows = {row["rater"]: row for row in _persons(page).values()}
    with closing(sqlite3.connect(page_folder(page.run, plan).people)) as database:
        taken = database.execute("SELECT rater, detail FROM events WHERE event = 'consented'").fetchall()
    slot_of = {rater: orjson.loads(detail)["slot"] for rater, detail in taken}
    assert len(taken) == len(slot_of) == 100
    said: dict[str, list[str]] = {}
    for (item, rater), answer in answers.items():
        assert answer.state == "submitted"
        if not isinstance(plan.by_id[item], KnownItem):
            said.setdefault(slot_of[rater], []).append(item)
    items = {
        slot: [item for item in order if not isinstance(plan.by_id[item], KnownItem)]
        for slot, order in plan.assignment.items()
    }
    assert {slot: sorted(own) for slot, own in said.items()} == {slot: sorted(own) for slot, own in items.items()}
    assert sum(map(len, said.values())) == SHARES * EACH == 180
    # Each item has two raters, and they are two people.
    raters = Counter(item for item, _ in answers if not isinstance(plan.by_id[item], KnownItem))
    assert set(raters.values()) == {plan.overlap}
    done = [row for row in rows.values() if row["state"] == "completed"]
    assert len(done) == len({row["slot"] for row in done}) == SHARES
    assert all(row["slot"] is None for row in rows.values() if row["state"] != "completed")
    # What was acknowledged is in the run once, and the run's ratings are those of the answers.
    ratings = run.ratings.filter(rated_by_humans())
    assert ratings.height == 2 * 180


def test_there_is_consent_for_every_rating(study: Any) -> None:
    page, plan, _ = study
    rows = {f"human:{row['rater']}": row for row in _persons(page).values()}
    with closing(sqlite3.connect(page_folder(page.run, plan).people)) as database:
        consents = database.execute("SELECT version, shown FROM consents").fetchall()
    shown = {version: orjson.loads(text) for version, text in consents}
    raters = Run(page.run.path).ratings.filter(rated_by_humans())["rater"].to_list()
    assert len(raters) == 360
    for rater in raters:
        row = rows[rater]
        assert row["decision"] == "agreed"
        assert row["consented"] < (row["ended"] or "9")
        assert shown[row["version"]]["consent"][0].startswith("I have read")


def test_the_payment_sheet_adds_up(study: Any, tmp_path: Path) -> None:
    page, plan, people = study
    sheet = tmp_path / "payment.csv"
    outcome = bedside.study_people(page.plan_file, payment=sheet).results
    lines = list(csv.DictReader(io.StringIO(sheet.read_text("utf-8"))))
    run = Run(page.run.path)
    answers = read_store(run, as_assigned(run, plan)).answers()
    done = Counter(rater for item, rater in answers if not isinstance(plan.by_id[item], KnownItem))
    total = Decimal(0)
    kinds = {person.pid: kind for person, kind in people}
    for line in lines:
        kind = kinds[line["PROLIFIC_PID"]]
        by_hand = {
            "questionnaire": Decimal("1.10"), "training": Decimal("1.10"),
            "return": Decimal("0.30") * done[line["person"]], "time out": Decimal("0.30") * done[line["person"]],
        }.get(kind, Decimal("9.00"))  # fmt: skip
        assert Decimal(line["amount"]) == by_hand, line
        assert int(line["items"]) == done[line["person"]]
        total += by_hand
    partial = sum(done[line["person"]] for line in lines if line["state"] == "timed_out")
    assert len(lines) == 100
    assert outcome.paid == total == 45 * Decimal("9.00") + 30 * Decimal("1.10") + partial * Decimal("0.30")
    assert sum(done.values()) == 180
    if os.name == "posix":
        assert stat.S_IMODE(page_folder(page.run, plan).people.stat().st_mode) == 0o600


def _holding(texts: list[str], *places: Path) -> list[Path]:
    files = [file for place in places for file in ([place] if place.is_file() else place.rglob("*")) if file.is_file()]
    assert files
    return [file for file in files if any(text.encode() in file.read_bytes() for text in texts)]


def test_ids_from_outside_stand_in_one_file_alone(study: Any, tmp_path: Path) -> None:
    page, plan, people = study
    run, folder = Run(page.run.path), page_folder(page.run, plan)
    pids = [person.pid for person, _ in people]
    bedside.export(run, "csv-folder", out=tmp_path / "export")
    ids = _holding(pids, run.path, tmp_path / "export", folder.path, page.plan_file)
    assert {file.name.partition("-")[0] for file in ids} == {"people.sqlite"}


def test_withdrawal_leaves_nothing(study: Any) -> None:
    page, plan, people = study
    answers = read_store(page.run, as_assigned(page.run, plan)).answers()
    rated = Counter(rater for item, rater in answers if not isinstance(plan.by_id[item], KnownItem))
    row = next(row for row in _persons(page).values() if rated[row["rater"]] == EACH)
    pid, rater = orjson.loads(row["parameters"])["PROLIFIC_PID"], row["rater"]
    folder = page_folder(page.run, plan)
    before = Run(page.run.path).ratings.filter(rated_by_humans()).height
    outcome = bedside.study_people(page.plan_file, withdraw=rater).results
    assert (outcome.withdrawn, outcome.waiting) == (1, 1)
    run = Run(page.run.path)
    assert run.ratings.filter(rated_by_humans()).height == before - 2 * EACH
    secret = next(person.secret for person, _ in people if person.pid == pid)
    assert _holding([pid, secret, row["code"] + "-"], run.path, folder.path, page.plan_file) == []
    named = [f'"{rater}"', f"human:{rater}\n", f"-{rater}\x00"]
    assert _holding(named, run.path, folder.path) == []
    # Somebody else can have the share, whole.
    now = as_assigned(run, plan)
    items = [item for item in plan.assignment[row["slot"]] if not isinstance(plan.by_id[item], KnownItem)]
    assert [item for item in now.assignment[row["slot"]] if item in set(items)] == items


def test_people_come_until_it_is_enough(tmp_path: Path) -> None:
    """Ten finish a share by need, one leaves, and three are under way when the target is reached; a killed server goes
    on, and who comes then is told kindly."""
    run = new_study(tmp_path, cases=60)
    training = read_training(gold_file(tmp_path, 2), "rate", (EMPATHY, GOAL))
    raters = tuple(f"rater-{number}" for number in range(1, 31))
    plan = rating_plan(run, raters=raters, overlap=2, share_size=EACH, by=["system"], training=training)
    rng = random.Random(7)
    levels = {
        item.id: {"empathy": str(rng.randint(1, 5)), "goal_alignment": str(rng.randint(1, 4))} for item in plan.items
    }
    study = str(write_study(tmp_path / "study"))
    with serving(plan, run, "--study", study, "--until", "empathy mean±1.5", "--idle", "5") as page:
        known = {**levels, **known_levels(plan)}
        people = [Participant(page, enrolment_secret(page), new_pid(rng), known) for _ in range(15)]
        leaver, *under_way = people[:4]
        for person in people[:4]:
            assert person.agree()
            person.answer("longer")
            person.rate(1)
        _time_passes(leaver)
        page.kill()
        page.start()
        _all_take_part(page, [(person, "plain") for person in people[4:14]], workers=3)
        deadline = time.monotonic() + 60
        while not (need := need_of(run, plan)) or not need.stopped:
            assert time.monotonic() < deadline, f"{page.stop()}"
            time.sleep(0.2)
        # What they have opened they may finish.
        for person in under_way:
            person.rate()
        late = people[14]
        assert not late.agree()
        rows = _persons(page)
        with closing(sqlite3.connect(page_folder(run, plan).people)) as database:
            ended = database.execute(
                "SELECT rater, detail FROM events WHERE event IN ('completed', 'it is enough', 'timed out')"
            )
            handed_in = {rater: orjson.loads(detail)["items"] for rater, detail in ended}
        code, printed = page.stop()
    assert code == 0, printed
    assert "The targets empathy mean±1.5 are reached" in printed
    assert "Traceback" not in page.output + printed
    assert late.ending == {"kind": "closed", "code": "C4", "link": None, "debriefing": None}
    assert rows[leaver.pid]["state"] == "timed_out"
    for person in (*under_way, *people[4:14]):
        assert person.ending is not None
        state = rows[person.pid]["state"]
        assert person.ending["kind"] == state
        assert state in (("enough",) if person in under_way else ("completed", "enough"))
        assert person.ending["link"] == f"https://app.example.org/complete?cc=C1&id={person.pid}"
    now = as_assigned(run, plan)
    answers = read_store(run, now).answers()
    said = {key: answer for key, answer in answers.items() if not isinstance(plan.by_id[key[0]], KnownItem)}
    rated = Counter(item for item, _ in said)
    assert set(rated.values()) <= {1, plan.overlap}
    assert len(said) == sum(handed_in.values()) < len(plan.items) * plan.overlap
    slots = [row["slot"] for row in rows.values() if row["slot"] is not None]
    assert len(slots) == len(set(slots)) == sum(row["state"] == "completed" for row in rows.values())
    assert all(state.reached for state in target_states(Run(run.path), now, read_targets("empathy mean±1.5")))

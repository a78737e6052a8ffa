"""Label Studio's page in a real browser: what raters see of each mode, what they can't hand in, what is settled."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from bedside.analysis.ratings_view import open_ratings_view
from bedside.annotation import label_studio_server as own
from bedside.annotation.adjudication import adjudicate
from bedside.annotation.annotation_plan import AnnotationPlan, PlanItem
from bedside.annotation.label_studio_client import LabelStudioClient
from bedside.annotation.label_studio_projects import PullSummary, pull, push
from bedside.annotation.page_words import page_words
from bedside.api.annotating import keep_plan
from bedside.judges.rubrics.rubric_files import find_rubric
from bedside.ratings.run import Run
from bedside.ratings.table import frame_of
from bedside.scoring.score import score
from tests.annotation.builders import CLIENT_TALK, FINDINGS, QUESTION, gold_cases, people as rows_of_people
from tests.annotation.study import EMPATHY, GOAL, JUDGE, level_of, levels, rating_plan
from tests.annotation.test_label_studio import (  # noqa: F401
    answer,
    begin,
    browser_of,
    key,
    people,
    server,
    studio,
    submit,
    tasks_of_project,
)  # fmt: skip
from tests.conftest import Call

pytestmark = [pytest.mark.server, pytest.mark.slow, pytest.mark.studio]

ARABIC = (
    ("clinician", "مرحباً، كيف كان أسبوعك؟"),
    ("patient", "أنا أتناول 10 mg من الدواء كل يوم."),
    ("clinician", "هل تنام جيداً؟"),
    ("patient", "لا، أستيقظ عند الساعة 3:00.\nثم لا أنام."),
    ("other", "I am his daughter. هو متعب."),
)
CHINESE = (
    ("clinician", "你好，这一周过得怎么样？"),
    ("patient", "我每天吃10 mg的药，但还是睡不着。😀"),
    ("patient", "真的。"),
    ("clinician", "听起来很难受。"),
)
LONG = tuple((("clinician", "patient")[n % 2], f"This is what is said in turn {n}.") for n in range(200))
INSTRUCTIONS = "# Welcome\n\nBefore you begin:\n\n- read it all\n- rate it\n\n1. first\n2. second\n"


@pytest.fixture
def talks(tmp_path: Path) -> Run:
    """Three conversations, in Arabic, in Chinese and of 200 turns, with a judge's levels."""
    lines = []
    for name, turns in (("arabic", ARABIC), ("chinese", CHINESE), ("long", LONG)):
        said = [{"role": role, "speaker": role, "text": text, "meta": {}} for role, text in turns]
        data = {"id": name, "system": "s", "case_id": name, "turns": said, "factors": {}, "language": "en"}
        lines.append(json.dumps({**data, "reference": {"goal": "to sleep"}}))
    path = tmp_path / "talks.jsonl"
    path.write_text("\n".join(lines) + "\n", "utf-8")
    run = score([path], tmp_path / "run", metrics=["structure"]).run
    rows = [
        (name, "s", name, "transcript", metric, JUDGE, 0, level, None, "Because.", None)
        for name in ("arabic", "chinese", "long")
        for metric, level in (("empathy", 2.0), ("goal_alignment", 4.0))
    ]
    with run.locked():
        run.add(frame_of(rows).lazy(), run.manifest)
    return run


class Desk:
    """Anna's desk: three conversations, a server, and the page on which she labels them."""

    def __init__(self, run: Run, studio: own.OwnServer, server: LabelStudioClient) -> None:  # noqa: F811
        self.run, self.studio, self.server = run, studio, server

    def plan(self, **options: Any) -> AnnotationPlan:
        return rating_plan(self.run, **{"raters": ("anna",), "overlap": 1, **options})

    @contextmanager
    def labelling(self, plan: AnnotationPlan) -> Iterator[Any]:
        """The page of the plan's first task, with the instructions closed."""
        (address,) = push(plan, self.run, self.server, text=INSTRUCTIONS).projects.values()
        with browser_of(self.studio, "anna") as page:
            begin(page, address)
            page.get_by_text("Welcome", exact=True).wait_for()
            page.wait_for_selector('[class*="phraseContainer"]')
            page.wait_for_timeout(500)
            for tag, style in (("ul", "disc"), ("ol", "decimal")):
                found = page.locator(f".lsf-modal-ls {tag}")
                assert found.evaluate("e => getComputedStyle(e).listStyleType") == style
            page.keyboard.press("Escape")
            shown(page)
            yield page

    def pull(self, plan: AnnotationPlan) -> PullSummary:
        return pull(plan, self.run, self.server)

    def ratings(self, *columns: str) -> list[tuple[Any, ...]]:
        rows = rows_of_people(self.run).filter(rater="human:anna").sort("transcript_id", "unit", "metric")
        return list(rows.select(columns).iter_rows())


@pytest.fixture
def desk(talks: Run, studio: own.OwnServer, server: LabelStudioClient) -> Desk:  # noqa: F811
    return Desk(talks, studio, server)


def shown(page: Any) -> str:
    """The text of the conversation that is open, once it is there."""
    page.wait_for_selector('[class*="phraseContainer"]')
    page.wait_for_timeout(1000)
    return str(page.locator(".bedside-left").first.inner_text())


def turn(page: Any, number: int) -> Any:
    return page.locator(f'[data-testid="phrase:{number}"]')


def press(page: Any, *keys: str) -> None:
    for each in keys:
        page.keyboard.press(each)
        page.wait_for_timeout(250)


def refused(page: Any, message: str) -> None:
    """Submitting is answered with a message, and nothing goes to the server."""
    from playwright.sync_api import TimeoutError as TooLateError

    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url) if request.method == "POST" else None)
    page.get_by_test_id("bottombar-submit-button").click()
    page.get_by_text(message).wait_for()
    assert not [url for url in sent if "/annotations" in url]
    # As long as the message opens, it may not hear the click; as long as it closes, it takes the clicks, and then it
    # gives the focus back.
    shown_message = page.locator(".ant-modal-wrap:visible")
    for _ in range(10):
        with suppress(TooLateError):
            page.get_by_role("button", name="OK").click(timeout=4000)
            shown_message.wait_for(state="hidden", timeout=4000)
            break
    assert shown_message.count() == 0
    page.wait_for_timeout(500)


def test_each_rubric_has_its_reason_and_its_evidence(desk: Desk) -> None:
    plan = desk.plan(rubrics=(EMPATHY, GOAL))
    titles, done = [], 0
    with desk.labelling(plan) as page:
        for _ in plan.items:
            text = shown(page)
            titles.append(text.splitlines()[0])
            _speakers_are_told_apart(page)
            if "10 mg من" in text:
                _is_written_from_the_right(page)
            press(page, "4", "w", "Shift+1")
            turn(page, 1).locator("button[aria-label='Label whole utterance']").click()
            page.wait_for_timeout(300)
            # Without a label there is no button.
            turn(page, 0).locator("button").last.wait_for(state="hidden")
            if "turn 3." in text:
                press(page, "Shift+2")
                turn(page, 3).locator('[class*="dialoguetext"]').dblclick(position={"x": 12, "y": 8})
                page.wait_for_timeout(300)
            page.get_by_placeholder("Why").first.fill("It says so.")
            submit(page)
            done += 1
    assert titles == [f"Conversation {number} of 3" for number in (1, 2, 3)]
    assert desk.pull(plan).stored.submitted == 3
    for name, metric, value, reason in desk.ratings("transcript_id", "metric", "value", "reason"):
        if metric == "empathy":
            assert (value, reason) == (4, "It says so. Evidence: turn 1.")
        else:
            assert (value, reason) == (2, "Evidence: turn 3 “This”." if name == "long" else None)


def _speakers_are_told_apart(page: Any) -> None:
    """By colours that stand out from what is behind them by 4.5:1 and differ, and by where their turns begin."""
    looks: dict[str, tuple[str, float]] = {}
    for number in range(min(6, page.locator('[data-testid^="phrase:"]').count())):
        name = turn(page, number).locator('[class*="dialoguename"]')
        colour = name.evaluate("e => getComputedStyle(e).color")
        ground = turn(page, number).evaluate("e => getComputedStyle(e).getPropertyValue('--background-color')")
        assert _contrast(_channels(colour), _channels(ground.strip())) >= 4.5
        assert name.evaluate("e => getComputedStyle(e, '::before').content") == '"[" counter(turn) "] "'
        looks[name.inner_text()] = (colour, turn(page, number).bounding_box()["x"])
    assert len(looks) >= 2
    assert len({colour for colour, _ in looks.values()}) == len({x for _, x in looks.values()}) == len(looks)


def _channels(colour: str) -> list[float]:
    if colour.startswith("#"):
        digits = colour[1:] if len(colour) == 7 else "".join(each * 2 for each in colour[1:])
        return [int(digits[at : at + 2], 16) for at in (0, 2, 4)]
    return [float(part) for part in colour[colour.index("(") + 1 : -1].split(",")[:3]]


def _contrast(first: list[float], second: list[float]) -> float:
    """The contrast ratio of WCAG 2.2."""

    def luminance(channels: list[float]) -> float:
        parts = [part / 255 for part in channels]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(first), luminance(second)))
    return (high + 0.05) / (low + 0.05)


def _is_written_from_the_right(page: Any) -> None:
    """The Arabic sentence ends at its left, and what is Latin in it stands where it is read."""
    places = (
        turn(page, 1)
        .locator('[class*="dialoguetext"]')
        .evaluate(
            """e => {const range = document.createRange();
        const node = document.createTreeWalker(e, NodeFilter.SHOW_TEXT).nextNode();
        const at = n => (range.setStart(node, n), range.setEnd(node, n + 1), range.getBoundingClientRect().left);
        const text = node.textContent; return [0, text.indexOf("10"), text.indexOf("mg"), text.length - 1].map(at)}"""
        )
    )
    assert places == sorted(places, reverse=True)
    left, right = (turn(page, 1).evaluate(f"e => e.getBoundingClientRect().{side}") for side in ("left", "right"))
    assert places[0] > (left + right) / 2


def test_in_an_audit_the_scale_is_seen_and_nobody_agrees_without_it(desk: Desk) -> None:
    plan = desk.plan(mode="audit", rubrics=(EMPATHY, GOAL), judge=JUDGE, per=1)
    with desk.labelling(plan) as page:
        assert page.get_by_text("The judge says 2", exact=True).is_visible()
        choices = page.locator(".bedside-rubric").nth(0).locator(".lsf-choice")
        assert choices.count() == 5
        for number, level in enumerate(EMPATHY.shown().scale):
            text = choices.nth(number).inner_text()
            assert f"{level.value}: {level.descriptor}" in text
            assert ("◀ the judge" in text) == (level.value == 2)
        press(page, "2")
        refused(page, "Please answer: Goal alignment")
        press(page, "q")
        page.get_by_placeholder("Why").nth(1).fill("It wanders.")
        submit(page)
    assert desk.pull(plan).stored.submitted == 1
    assert desk.ratings("metric", "value", "label", "reason") == [
        ("empathy.agrees", None, "agree", None),
        ("empathy.audited", 2.0, None, None),
        ("goal_alignment.agrees", None, "disagree", "It wanders."),
        ("goal_alignment.audited", 1.0, None, "It wanders."),
    ]


def test_listed_with_nothing_listed_is_not_handed_in(desk: Desk) -> None:
    plan = desk.plan(mode="findings", rubrics=(FINDINGS,), per=1)
    with desk.labelling(plan) as page:
        press(page, "1")
        refused(page, "Something is listed: please choose what, and list it")
        press(page, "w", "r")
        refused(page, "Please list, or take the tick away: emotional discomfort or fear")
        boxes = page.locator(".bedside-rubric input[name^='finding_extraction']")
        assert [box.is_visible() for box in boxes.all()] == [False, True, False, True]
        for text in ("afraid of needles", "afraid of pain"):
            boxes.nth(1).fill(text)
            boxes.nth(1).press("Enter")
        boxes.nth(3).fill("cost")
        boxes.nth(3).press("Enter")
        # Financial: it is not listed after all.
        page.locator(".bedside-rubric .lsf-choice label").nth(5).click()
        page.wait_for_timeout(300)
        submit(page)
    assert desk.pull(plan).stored.missing == 0
    found = {metric.partition(".")[2]: value for metric, value in desk.ratings("metric", "value")}
    assert found.pop("") == found.pop("emotional_discomfort_or_fear") == 2
    assert set(found.values()) == {0}


@pytest.mark.soak_only
def test_a_german_page_records_what_an_english_one_does(desk: Desk) -> None:
    words = page_words("de")
    plan = desk.plan(mode="findings", rubrics=(find_rubric("finding_extraction", language="de"),), per=2)
    with desk.labelling(plan) as page:
        text = shown(page)
        assert text.splitlines()[0] == "Gespräch 1 von 2"
        assert {"Behandler", "Patient"} <= set(text.splitlines())
        _speakers_are_told_apart(page)
        choices = page.locator(".bedside-rubric .lsf-choice:visible")
        assert words.say("value_listed") in choices.nth(0).inner_text()
        press(page, "1")
        refused(page, words.say("studio_choose_label"))
        press(page, "w")
        box = page.locator(".bedside-rubric input[name^='finding_extraction']:visible")
        assert box.count() == 1
        box.fill("Angst vor Nadeln")
        box.press("Enter")
        submit(page)
        shown(page)
        press(page, "2")
        submit(page)
    collected = desk.pull(plan)
    assert (collected.stored.submitted, collected.collected.altered_tasks) == (2, 0)
    found = desk.ratings("metric", "value")
    for metric in ("finding_extraction", "finding_extraction.emotional_discomfort_or_fear"):
        assert sorted(value for name, value in found if name == metric) == [0, 1]


def test_turns_are_coded_in_the_order_spoken_with_the_keys_beside_the_codes(desk: Desk) -> None:
    plan = desk.plan(mode="codes", rubrics=(QUESTION, CLIENT_TALK))
    coded = 0
    with desk.labelling(plan) as page:
        for _ in plan.items:
            if "turn 199." in shown(page):
                _the_conversation_follows(page)
                page.get_by_role("button", name="Skip").click()
                page.wait_for_timeout(1500)
                continue
            names = page.locator('[class*="dialoguename"]').all_inner_texts()
            press(page, "Alt+.")
            assert page.locator(".lsf-choice:visible").count() == 3
            assert "[1]" in page.locator(".lsf-choice:visible").first.inner_text()
            press(page, "2")
            missing = next(at for at, name in enumerate(names) if at and name == "Clinician")
            refused(page, "Please code every turn: Question")
            marked = page.evaluate("() => window.Htx.annotationStore.selected.selectedRegions.map(r => r.start)")
            assert marked == [str(missing)]  # the first turn without the code
            press(page, "u", "Alt+.")
            for at, name in enumerate(names):
                if name != "Other":
                    # The first has its code already: its key would take it back.
                    press(page, *(["1" if name == "Clinician" else "e"] if at else []), "Alt+.")
                    coded += 1
            submit(page)
    answers = desk.pull(plan)
    assert (answers.stored.submitted, answers.stored.skipped, answers.collected.set_aside) == (2, 1, ())
    rows = [row for row in desk.ratings("transcript_id", "unit", "metric", "label") if row[0] != "long"]
    assert len(rows) == coded == 8
    assert rows == [
        ("arabic", "turn:0", "question", "open"), ("arabic", "turn:1", "client_talk", "neutral"),
        ("arabic", "turn:2", "question", "none"), ("arabic", "turn:3", "client_talk", "neutral"),
        ("chinese", "turn:0", "question", "open"), ("chinese", "turn:1", "client_talk", "neutral"),
        ("chinese", "turn:2", "client_talk", "neutral"), ("chinese", "turn:3", "question", "none"),
    ]  # fmt: skip


def _the_conversation_follows(page: Any) -> None:
    """Of 200 turns, the one that is being coded is in sight, and all are in the order spoken."""
    names = page.locator('[class*="dialoguename"]').all_inner_texts()
    assert names == ["Clinician", "Patient"] * 100
    for _ in range(16):
        press(page, "Alt+.")
    page.wait_for_timeout(1000)
    box = turn(page, 15).bounding_box()
    assert 0 < box["y"] < 900
    assert turn(page, 0).bounding_box()["y"] < 0
    assert page.locator(".lsf-choice:visible").count() == 3


def test_gold_is_answered_among_the_others_and_what_differs_is_settled_in_a_browser(
    run: Run, studio: own.OwnServer, server: LabelStudioClient, people: dict[str, Any],  # noqa: F811
    key: str, tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch,  # noqa: F811
) -> None:  # fmt: skip
    plan = rating_plan(run, raters=("anna", "ben"), per=6, gold=gold_cases(tmp_path), gold_share=0.3, seed=11)
    push(plan, run, server)
    for name, (project, *_) in server.projects(plan).items():
        tasks = tasks_of_project(server, project)
        assert sorted(tasks) == sorted(plan.assignment[name])
        for item_id, task in tasks.items():
            item = plan.by_id[item_id]
            said = levels(item_id, name)
            if not isinstance(item, PlanItem):
                said = {rubric: str(known) for rubric, known in item.answers.items()}
            answer(people[name], task, said)
    keep_plan(plan, run, tmp_path / "plan.json")
    monkeypatch.setenv("LABEL_STUDIO_API_KEY", key)
    code, out, err = call("annotate", "status", "plan.json", "--live", "--url", studio.url, "--json")
    assert (code, "How raters keep up" in out) == (0, True), err
    assert not [name for name in Run(run.path).ratings["transcript_id"].unique() if name.startswith("known")]
    assert rows_of_people(run, "empathy").filter(rater="human:anna").height == 6
    adjudication = adjudicate(Run(run.path), plan, ["cleo"], rubrics=["empathy"]).plan
    # Two raters whose levels differ by one wherever they can.
    differ = [level_of(item.id, "anna") != level_of(item.id, "ben") for item in plan.items]
    assert len(adjudication.items) == sum(differ)
    (address,) = push(adjudication, run, server).projects.values()
    with browser_of(studio, "cleo") as page:
        begin(page, address)
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
            submit(page)
    assert pull(adjudication, run, server).stored.submitted == len(adjudication.items)
    assert set(open_ratings_view(run.path).final_labels("empathy").values()) == {3.0}
    again = pull(adjudication, run, server)
    assert (again.stored.new, again.stored.revised) == (0, 0)

"""The rating page in real browsers: two people, a killed server, a phone, 200 turns, any script, other languages."""

from __future__ import annotations

import json
import re
import string
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import bedside
from bedside.annotation.answer_store import read_store
from bedside.annotation.assignment_by_need import WorkDone, need_design, stop
from bedside.annotation.fields import LISTED, NONE
from bedside.annotation.page_words import page_words
from bedside.annotation.plan_file import read_plan
from bedside.annotation.reassignment import as_assigned
from bedside.annotation.sampling import make_plan
from bedside.annotation.training_cases import read_training
from bedside.ratings.run import Run
from bedside.scoring.score import score
from tests.annotation.builders import (
    CLIENT_TALK,
    COST,
    FEAR,
    MODES,
    QUESTION,
    copy_of,
    gold_cases,
    people,
    translated_plan,
)
from tests.annotation.rating_page.pages import ServedPage, serving
from tests.annotation.study import EMPATHY, GOAL, new_study, rating_plan
from tests.annotation.test_composites import MANNERS, STEPS, TEACH, composite_study, item_of
from tests.annotation.test_corrected_lists import MYTH, NAME, listed, place as place_of
from tests.annotation.test_links import CHECK, MATCHING, link_study

pytestmark = [pytest.mark.server, pytest.mark.slow]

CHINESE = (
    "您好，最近睡眠怎么样？",
    "不太好，每晚只睡四个小时。<b>很累</b>",
    "听起来这对您很辛苦。",
    "是的，我想改变。",
)
ARABIC = ("كيف حالك اليوم؟", "آخذ 50 mg من sertraline كل يوم.", "هل تنام جيدًا (6 ساعات)؟", "لا، وهذا يقلقني.")
LONG = tuple(f"Turn number {number}. {'I want to change that. ' * 8}" for number in range(200))

#: The lowest contrast of any text in sight with what is behind it (WCAG 2.2, relative luminance).
LOWEST_CONTRAST = """() => {
  const parts = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
    .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, place) => sum + v * [0.2126, 0.7152, 0.0722][place], 0);
  const behind = (element) => {
    for (let one = element; one; one = one.parentElement) {
      const colour = parts(getComputedStyle(one).backgroundColor);
      if (colour.length < 4 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  };
  let lowest = [99, ""];
  for (const element of document.body.querySelectorAll("*")) {
    const has = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (!has || !element.checkVisibility()) continue;
    const [one, other] = [light(parts(getComputedStyle(element).color)), light(behind(element))];
    const ratio = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    if (ratio < lowest[0]) lowest = [ratio, element.outerHTML.slice(0, 100)];
  }
  return lowest;
}"""


def conversation(name: str, texts: tuple[str, ...]) -> dict[str, Any]:
    turns: list[dict[str, Any]] = [
        {"role": ("clinician", "patient")[number % 2], "speaker": "secret bot", "text": text, "meta": {}}
        for number, text in enumerate(texts)
    ]
    return {
        "id": f"hidden-{name}", "system": f"hidden-{name}", "case_id": f"hidden-{name}", "turns": turns, "factors": {},
        "reference": {"goal": texts[0], "answers": {"empathy": 2, "goal_alignment": 3}}, "language": "en",
    }  # fmt: skip


@pytest.fixture(scope="module")
def talks(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("talks")
    texts = {"chinese": CHINESE, "arabic": ARABIC, "long": LONG}
    lines = [json.dumps(conversation(name, talk)) for name, talk in texts.items()]
    (folder / "in.jsonl").write_text("\n".join(lines) + "\n")
    (folder / "training.jsonl").write_text(json.dumps(conversation("known", ("Hello", "I am sad"))) + "\n")
    return score([folder / "in.jsonl"], folder / "run", metrics=["structure"]).run


@pytest.fixture(scope="module")
def served(talks: Run) -> Iterator[ServedPage]:
    cases = read_training(Path(talks.path).with_name("training.jsonl"), "rate", (EMPATHY, GOAL))
    with serving(rating_plan(talks, raters=("anna", "ben"), overlap=2, training=cases), talks) as page:
        yield page


def opened(
    browser: Any, link: str, hosts: set[str] | None = None, width: int = 1440, height: int = 900,
    often: str = "study.js",
) -> Any:  # fmt: skip
    """A rater's own browser, as it were: nothing is shared with others'. What is asked every ten seconds by ``often``
    is asked each second."""
    # axe-core is put into pages from outside where no hosts are looked at, which their policy wouldn't let in.
    page = browser.new_context(viewport={"width": width, "height": height}, bypass_csp=hosts is None).new_page()
    page.set_default_timeout(15_000)
    asked = set() if hosts is None else hosts
    page.on("request", lambda request: asked.add(request.url.split("/")[2]) if "://" in request.url else None)
    page.on("pageerror", lambda error: pytest.fail(str(error)))
    page.route(f"**/files/{often}", _often)
    page.goto(link)
    return page


def _often(route: Any) -> None:
    answer = route.fetch()
    before, _, after = answer.text().partition("10000")
    assert after
    route.fulfill(response=answer, body=f"{before}1000{after}")


def title(page: Any) -> str:
    return str(page.locator("h1").inner_text())


def hand_in(page: Any) -> None:
    before = title(page)
    page.keyboard.press("Control+Enter")
    has_left(page, before)


def has_left(page: Any, before: str) -> None:
    """The page that had this title is gone."""
    page.locator("h1").and_(page.get_by_text(before, exact=True)).wait_for(state="detached")


@contextmanager
def _drafts_held(page: Any) -> Iterator[list[Any]]:
    """Drafts that the page sends reach the server only at the end."""
    held: list[Any] = []

    def handle(route: Any) -> None:
        if route.request.method == "PUT" and route.request.post_data_json["state"] == "draft":
            held.append(route)
        else:
            route.continue_()

    page.route("**/items/*", handle)
    yield held
    for route in held:
        route.continue_()
    page.unroute("**/items/*")


def is_kept(page: Any) -> None:
    page.locator("#status", has_text="Kept.").wait_for()


def test_two_people_rate_at_once_and_a_killed_server_loses_nothing(served: ServedPage, browser: Any) -> None:
    hosts: set[str] = set()
    anna, ben = (opened(browser, served.links[rater], hosts) for rater in ("anna", "ben"))
    for page, levels in ((anna, "23"), (ben, "15")):
        page.get_by_role("button", name="Begin").click()
        page.locator("h1", has_text="Training 1 of 1").wait_for()
        assert page.locator("#feedback li").count() == 0
        for key in levels:
            page.keyboard.press(key)
        page.keyboard.press("Control+Enter")
        page.locator("#feedback li").first.wait_for()
        page.get_by_role("button", name="Next").click()
        page.locator("h1", has_text="Conversation 1 of 3").wait_for()
    # Ben marks a turn and words of another, and says why.
    ben.get_by_role("button", name="Mark turns").first.click()
    ben.get_by_label("Turn 1 is evidence for question 1").click()
    ben.locator("#turn-2 .said").evaluate("p => getSelection().setBaseAndExtent(p.firstChild, 0, p.firstChild, 4)")
    words = ben.evaluate("getSelection().toString()")
    ben.get_by_label("Turn 2 is evidence for question 1").click()
    ben.get_by_role("button", name="Done marking").first.click()
    ben.keyboard.press("4")
    reason = ben.locator("textarea[data-field=reason__empathy]")
    reason.fill("kept before")
    is_kept(ben)
    served.kill()
    # Both go on while nothing answers. Anna even hands in.
    reason.press_sequentially(" and typed into the void <b>&amp;</b>")
    ben.locator("#status.trouble", has_text="can't be reached").wait_for()
    for key in "44":
        anna.keyboard.press(key)
    anna.keyboard.press("Control+Enter")
    anna.locator("#status.trouble", has_text="can't be reached").wait_for()
    # Anna goes on with the next, which was fetched before.
    anna.locator("h1", has_text="Conversation 2 of 3").wait_for()
    served.start()
    is_kept(ben)
    ben.reload()
    reason.wait_for()
    assert reason.input_value() == "kept before and typed into the void <b>&amp;</b>"
    assert ben.locator("input[name=empathy]:checked").get_attribute("value") == "4"
    # Nothing is handed in that lacks something; what was missing is handed in before a slow server has kept the draft.
    with _drafts_held(ben) as held:
        ben.keyboard.press("Control+Enter")
        ben.locator(".wanted", has_text="Please answer: Goal alignment.").wait_for()
        while not held:
            ben.wait_for_timeout(20)
        before = title(ben)
        ben.keyboard.press("2")
        ben.keyboard.press("Control+Enter")
    has_left(ben, before)
    _the_rest(anna, ben)
    for page in (anna, ben):
        page.locator("p", has_text="All of it is handed in").wait_for()
    assert hosts == {served.address.removeprefix("http://")}
    assert served.stop()[0] == 0
    _run_has_what_they_did(served, words)
    served.start()


def _the_rest(anna: Any, ben: Any) -> None:
    """Anna rates with keys and skips the last; Ben clicks."""
    anna.keyboard.press("5")
    anna.keyboard.press("1")
    hand_in(anna)
    anna.get_by_role("button", name="Skip").click()
    for _ in range(2):
        for name, level in (("empathy", "3"), ("goal_alignment", "3")):
            ben.locator(f"input[name={name}][value='{level}']").click()
        before = title(ben)
        ben.get_by_role("button", name="Hand in").click()
        has_left(ben, before)


def _run_has_what_they_did(served: ServedPage, words: str) -> None:
    plan = read_plan(served.plan_file)
    first = {rater: plan.assignment[rater][1] for rater in plan.raters}
    answers = read_store(Run(served.run.path), plan).answers()
    said = answers[first["ben"], "ben"]
    assert said.choices == {"empathy": ("4",), "goal_alignment": ("2",)}
    assert said.texts["reason__empathy"] == ("kept before and typed into the void <b>&amp;</b>",)
    assert said.texts["evidence__empathy"] == ("1", f"2: {words}")
    assert said.seconds is not None
    assert 0 < said.seconds < 300
    levels = {
        rater: [answers[item, rater].choices.get("empathy", ("",))[0] for item in plan.assignment[rater]]
        for rater in plan.raters
    }
    assert levels == {"anna": ["2", "4", "5", ""], "ben": ["1", "4", "3", "3"]}
    rows = people(served.run, "empathy").filter(rater="human:anna")
    assert sorted(rows["error"].drop_nulls()) == ["skipped by the rater"]
    assert rows.height == 3


def test_a_rater_changes_what_was_handed_in_and_two_windows_meet(served: ServedPage, browser: Any) -> None:
    hosts: set[str] = set()
    one = opened(browser, served.links["anna"], hosts)
    one.locator(".items button").nth(1).click()
    one.locator("h1", has_text="Conversation 1 of 3").wait_for()
    other = one.context.new_page()
    other.goto(served.links["anna"])
    other.locator(".items button").nth(1).click()
    other.locator("#notes").fill("from the other window")
    is_kept(other)
    one.locator("#notes").fill("from this one")
    one.locator(".notice", has_text="changed in another window").wait_for()
    # Neither is lost: the rater says which stays.
    one.on("dialog", lambda dialog: dialog.accept())
    one.get_by_role("button", name="Load the page again").click()
    one.locator(".items button").nth(1).click()
    one.get_by_role("button", name="What I filled in here").click()
    one.locator("#notes").wait_for()
    assert one.locator("#notes").input_value() == "from this one"
    one.get_by_role("button", name="Hand in again").click()
    one.locator(".items").wait_for()


def test_what_is_shown_reads_well_in_any_script_and_on_a_phone(
    served: ServedPage, browser: Any, tmp_path: Path
) -> None:
    page = opened(browser, served.links["ben"], set(), 390, 780)
    for place in (1, 2, 3):
        page.get_by_role("button", name="All items").click()
        page.locator(".items button").nth(place).click()
        page.locator("fieldset").first.wait_for()
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        ratio, element = page.evaluate(LOWEST_CONTRAST)
        assert ratio >= 4.5, element
        text = page.locator("#conversation").inner_text()
        said = page.locator("#turn-1 .said")
        if CHINESE[1] in text:
            assert said.inner_text() == CHINESE[1]
        elif ARABIC[1] in text:
            style = said.evaluate("p => [getComputedStyle(p).direction, getComputedStyle(p).unicodeBidi]")
            assert style == ["rtl", "plaintext"]
            _last_stop_is_at_the_left(page)
        for small in page.locator("main button:visible, main label.choice:visible, footer button:visible").all()[:20]:
            assert small.bounding_box()["height"] >= 24
    ratio, element = opened(browser, served.links["anna"], set()).evaluate(LOWEST_CONTRAST)
    assert ratio >= 4.5, element


def _last_stop_is_at_the_left(page: Any) -> None:
    """An Arabic sentence ends at the left, its full stop too."""
    left, right = page.locator("#turn-1 .said").evaluate(
        """p => {
          const range = document.createRange(), text = p.firstChild, at = (place) => {
            range.setStart(text, place); range.setEnd(text, place + 1); return range.getBoundingClientRect().x; };
          return [at(text.length - 1), at(0)];
        }"""
    )
    assert left < right


def test_two_hundred_turns_are_coded_beside_what_was_said(talks: Run, browser: Any, tmp_path: Path) -> None:
    run = copy_of(talks, tmp_path / "run")
    plan = rating_plan(run, mode="codes", rubrics=(QUESTION, CLIENT_TALK), raters=("anna",), overlap=1)
    item = next(item.id for item in plan.items if item.transcript == "hidden-long")
    with serving(plan, run) as served:
        page = opened(browser, served.links["anna"], set())
        page.get_by_role("button", name="All items").click()
        page.locator(".items button").nth(plan.assignment["anna"].index(item)).click()
        page.locator("fieldset").nth(199).wait_for(state="attached")
        # In the order spoken, each below what was said, with the definitions in sight.
        legends = page.locator("#conversation legend").all_inner_texts()
        assert legends[:3] == ["Turn 0: Question", "Turn 1: Client talk", "Turn 2: Question"]
        assert page.locator("#turn-1 .said").inner_text() == LONG[1].strip()
        for key in "21" * 100:
            page.keyboard.press(key)
        page.locator(".task", has_text="200 of 200 codes given").wait_for()
        # The last turn has come into sight as the keys went on.
        assert page.locator("#turn-199").is_visible()
        hand_in(page)
        assert served.stop()[0] == 0
    rows = people(run, "question", "client_talk")
    assert rows.height == 200
    assert set(rows.select("metric", "label").iter_rows()) == {("question", "open"), ("client_talk", "change")}


@pytest.mark.parametrize("width", [1000, 360])
def test_a_flow_asks_what_its_answers_lead_to(browser: Any, tmp_path: Path, width: int) -> None:
    run = composite_study(tmp_path)
    plan = make_plan(run, mode="rate", rubrics=(STEPS, TEACH, MANNERS), raters=("anna",), overlap=1)
    place = plan.assignment["anna"].index(item_of(plan, "hidden-0"))
    with serving(plan, run) as served:
        page = opened(browser, served.links["anna"], set(), width, 800)

        def open_item() -> None:
            page.get_by_role("button", name="All items").click()
            page.locator(".items button").nth(place).click()
            page.locator("fieldset").first.wait_for()

        def asked() -> list[str]:
            groups = page.locator("fieldset[data-field^=steps]:visible").all()
            return [group.get_attribute("data-field") for group in groups]

        open_item()
        assert asked() == ["steps_1"]
        page.keyboard.press("2")  # no: on to 2
        assert asked() == ["steps_1", "steps_2"]
        page.locator("textarea[data-field=reason__steps_2]").fill("in a hurry")
        page.locator("input[name=steps_2][value=No]").click()
        page.keyboard.press("2")
        assert asked() == ["steps_1", "steps_2", "steps_3"]
        is_kept(page)
        page.reload()
        page.locator("fieldset").first.wait_for()
        open_item()
        assert asked() == ["steps_1", "steps_2", "steps_3"]
        assert page.locator("textarea[data-field=reason__steps_2]").input_value() == "in a hurry"
        page.locator("fieldset[data-field=steps_2]").get_by_role("button", name="Back").click()
        assert page.evaluate("document.activeElement.name") == "steps_1"
        page.keyboard.press("1")  # yes: 2 isn't asked any more
        assert asked() == ["steps_1", "steps_3"]
        page.keyboard.press("k")
        assert page.evaluate("document.activeElement.name") == "steps_1"
        page.keyboard.press("2")
        assert asked() == ["steps_1", "steps_2"]
        assert page.locator("textarea[data-field=reason__steps_2]").input_value() == ""
        page.keyboard.press("1")
        page.keyboard.press("1")
        page.keyboard.press("Control+Enter")
        page.locator(".wanted", has_text="Frightens.").wait_for()
        assert page.locator(".criteria fieldset").first.inner_text().startswith("Criterion 4.1")
        for key in "121":
            page.keyboard.press(key)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        ratio, element = page.evaluate(LOWEST_CONTRAST)
        assert ratio >= 4.5, element
        page.locator("input[name=manners_warm][value='2']").click()
        page.locator("input[name=manners_clear][value='3']").click()
        page.locator("h1").click()
        hand_in(page)
        code, told = served.stop()
        assert code == 0, told
    rows = people(run).filter(transcript_id="hidden-0").select("metric", "value", "label", "error").iter_rows()
    got = {metric: value if value is not None else label or error for metric, value, label, error in rows}
    assert got == {
        "steps_1": "No", "steps_2": "Yes", "steps_3": "Yes", "steps_asks": "doubtful", "steps_ends": "harmful",
        "teach": pytest.approx((6677 - 2222) / (6677 + 3311)), "teach_safety": pytest.approx((6677 - 2222) / 6677),
        "manners_warm": 2.0, "manners_clear": 3.0, "manners_mean": 2.5,
    }  # fmt: skip


@pytest.mark.parametrize("width", [1280, 360])
def test_entries_are_linked_by_keys_and_kept(browser: Any, tmp_path: Path, width: int) -> None:
    run = link_study(tmp_path)
    plan = make_plan(run, mode="rate", rubrics=(MATCHING, CHECK), raters=("anna",), overlap=1)
    place = plan.assignment["anna"].index(item_of(plan, "hidden-0"))
    with serving(plan, run) as served:
        page = opened(browser, served.links["anna"], None, width, 800)

        def open_item() -> None:
            page.get_by_role("button", name="All items").click()
            page.locator(".items button").nth(place).click()
            page.locator("fieldset").first.wait_for()

        def asked() -> list[str]:
            groups = page.locator("fieldset[data-field^=concern]:visible").all()
            return [group.get_attribute("data-field").removeprefix("concern_matching__") for group in groups]

        open_item()
        axe_finds_nothing(page)
        assert asked() == ["0", "1", "2"]
        for key in "1121x":  # each link is followed by its category; the third is none
            page.keyboard.press(key)
        assert asked() == ["0", "0__category_agrees", "1", "1__category_agrees", "2"]
        # On to the turn in which the first finding is conveyed, which is picked from a list.
        assert page.evaluate("document.activeElement.name") == "finding_check__0"
        page.keyboard.type("3")
        page.locator("select").nth(1).select_option("none of these")
        for number in (0, 1):
            page.locator(f"input[name=finding_check__{number}__opening][value=no]").click()
        page.keyboard.press("Control+Enter")
        page.locator(".wanted", has_text="Please mark the words that show the link (Patient)").nth(1).wait_for()
        # A question of the clinician's shows no concern.
        for number, turn in ((1, 2), (0, 1)):
            page.get_by_role("button", name="Mark turns").nth(number).click()
            page.get_by_label(f"Turn {turn} is evidence for question 1.{number + 1}").click()
            page.get_by_role("button", name="Done marking").first.click()
        page.keyboard.press("Control+Enter")
        page.locator("[data-field=concern_matching__1] .wanted", has_text="(Patient)").wait_for()
        assert page.locator(".wanted:not(:empty)").count() == 1
        for number, turn in ((1, 3),):
            page.get_by_role("button", name="Mark turns").nth(number).click()
            page.get_by_label(f"Turn {turn} is evidence for question 1.{number + 1}").click()
            page.get_by_role("button", name="Done marking").first.click()
        assert page.locator(".wanted:not(:empty)").count() == 0
        is_kept(page)
        page.reload()
        open_item()
        assert page.locator("input:checked").count() == 3 + 2 + 2
        assert [page.locator("select").nth(number).input_value() for number in (0, 1)] == ["3", "none of these"]
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        ratio, element = page.evaluate(LOWEST_CONTRAST)
        assert ratio >= 4.5, element
        axe_finds_nothing(page)
        page.locator("h1").click()
        hand_in(page)
        assert served.stop()[0] == 0
    rows = people(run).filter(transcript_id="hidden-0").select("metric", "value").iter_rows()
    got = dict(rows)
    assert (got["concern_matching"], got["finding_check"], got["concern_recall"]) == (2, 1, pytest.approx(2 / 3))


#: All that a reader sees or is read out, once each; what was said and written by people is marked.
TEXTS = """() => {
  const found = new Set();
  for (const element of document.querySelectorAll("body, body *")) {
    for (const name of ["aria-label", "title", "placeholder"]) found.add(element.getAttribute(name) ?? "");
    if (element.matches(".said, .instructions *") || !element.checkVisibility()) continue;
    for (const node of element.childNodes) if (node.nodeType === 3) found.add(node.data.trim());
  }
  found.add(document.title);
  return [...found];
}"""
#: Names of keys.
KEPT = {"Enter", "Ctrl", "Tab"}


def english_left(texts: set[str], language: str) -> set[str]:
    """Texts that the English page has, but for those that the language shares with it."""
    english, own = page_words("en").texts, page_words(language).texts
    patterns = []
    for key, text in english.items():
        fixed = [part for part, *_ in string.Formatter().parse(text.strip())]
        if text != own[key] and re.search("[A-Za-z]{3}", "".join(fixed)):
            patterns.append(re.compile(".+".join(map(re.escape, fixed))))
    return {text for text in texts if any(pattern.fullmatch(text) for pattern in patterns)}


def axe_finds_nothing(page: Any) -> None:
    axe = pytest.importorskip("axe_playwright_python.base").AXE_FILE_PATH.read_text("utf-8")
    page.evaluate(axe)
    found = page.evaluate("() => axe.run()")["violations"]
    assert [(fault["id"], fault["nodes"][0]["html"]) for fault in found] == []


@pytest.mark.parametrize("language", ["de", "zh"])
@pytest.mark.parametrize("name", ["audit", "findings", "pairs", "adjudicate", "turns"])
def test_all_of_it_is_in_the_language_and_can_be_handed_in(
    run: Run, browser: Any, name: str, language: str
) -> None:  # fmt: skip
    words = page_words(language)
    texts: set[str] = set()
    with serving(translated_plan(run, name, language), run) as served:
        page = opened(browser, served.links["dora"])
        page.get_by_role("button", name=words.say("begin")).click()
        plan = read_plan(served.plan_file)
        for place in range(len(plan.items)):
            page.locator("fieldset").first.wait_for()
            if place == 0:
                texts |= _looked_through(page, language)
            _answer(page)
            before = title(page)
            page.get_by_role("button", name=words.say("hand_in"), exact=True).click()
            has_left(page, before)
        page.get_by_text(words.say("all_handed_in")).wait_for()
        texts |= set(page.evaluate(TEXTS))
        axe_finds_nothing(page)
        page.context.close()
        assert served.stop()[0] == 0
    assert english_left(texts, language) == set()
    if language == "zh":
        latin = {word for text in texts for word in re.findall("[A-Za-z]{3,}", text)}
        assert latin <= KEPT
    answers = read_store(Run(run.path), plan).answers()
    assert {answers[item.id, "dora"].state for item in plan.items} == {"submitted"}
    if name == "findings":
        assert {answer.choices["finding_extraction"] for answer in answers.values()} == {(LISTED,)}


def _looked_through(page: Any, language: str) -> set[str]:
    """What the first item says: as it is opened, where something is missing, where turns are marked, and of keys."""
    words = page_words(language)
    axe_finds_nothing(page)
    texts = set(page.evaluate(TEXTS))
    page.get_by_role("button", name=words.say("hand_in"), exact=True).click()
    page.locator(".wanted:not(:empty)").first.wait_for()
    texts |= set(page.evaluate(TEXTS))
    marking = page.get_by_role("button", name=words.say("mark_turns"))
    if marking.count():
        marking.first.click()
        page.locator("#turn-0 .marks button").click()
        texts |= set(page.evaluate(TEXTS))
        page.get_by_role("button", name=words.say("done_marking")).first.click()
    page.get_by_role("button", name=words.say("keys")).click()
    page.locator("dialog").wait_for()
    texts |= set(page.evaluate(TEXTS))
    page.get_by_role("button", name=words.say("close")).click()
    return texts


def _answer(page: Any) -> None:
    """The first choice of every question; of a list, one entry."""
    for group in page.locator("fieldset").all():
        group.locator("input").first.click()
    if page.locator(".entries textarea").count():
        page.locator(".entries textarea").first.fill("12 %")


# -- a server that is away, a reply that is lost, the browser's Back --


@pytest.fixture
def alone(run: Run) -> Iterator[ServedPage]:
    """Anna's page of five conversations."""
    with serving(rating_plan(run, raters=("anna",), per=5, overlap=1, seed=5), run) as page:
        yield page


def begun(browser: Any, served: ServedPage, width: int = 1440) -> Any:
    page = opened(browser, served.links["anna"], width=width)
    page.on("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Begin").click()
    at(page, 1)
    return page


def at(page: Any, number: int) -> None:
    page.locator("h1", has_text=f"Conversation {number} of 5").wait_for()


def states(page: Any) -> list[str]:
    page.locator(".items").wait_for()
    return [text.partition(": ")[2] for text in page.locator(".items button").all_inner_texts()]


def levels_of(served: ServedPage) -> list[str]:
    """Anna's levels of empathy in the order of her share; nothing where none is in the run."""
    plan = read_plan(served.plan_file)
    answers = read_store(Run(served.run.path), plan).answers()
    said = [answers.get((item, "anna")) for item in plan.assignment["anna"]]
    return ["".join(answer.choices.get("empathy", ("-",))) if answer else "" for answer in said]


def test_rating_goes_on_where_the_server_is_away(alone: ServedPage, browser: Any) -> None:
    page = begun(browser, alone)
    page.wait_for_load_state("networkidle")  # the next items are fetched beforehand
    alone.kill()
    # What lacks something isn't handed in, and goes on as soon as it is there.
    page.keyboard.press("2")
    page.keyboard.press("Control+Enter")
    page.locator(".wanted", has_text="Goal alignment").wait_for()
    page.keyboard.press("3")
    page.keyboard.press("Control+Enter")
    at(page, 2)
    page.locator("#status.trouble", has_text="can't be reached").wait_for()
    page.get_by_role("button", name="Skip").click()
    at(page, 3)
    for key in "44":
        page.keyboard.press(key)
    page.keyboard.press("Control+Enter")
    at(page, 4)
    page.get_by_role("button", name="All items").click()
    later = "handed in or changed here, and not sent yet"
    assert states(page) == [later, later, later, "open", "open"]
    assert page.locator(".progress").inner_text() == "3 of 5 handed in"
    # What was handed in can be opened and changed.
    page.locator(".items button").nth(2).click()
    at(page, 3)
    page.locator("input[name=empathy][value='5']").click()
    page.keyboard.press("Control+Enter")
    at(page, 4)
    page.get_by_role("button", name="All items").click()
    assert states(page) == [later, later, later, "open", "open"]
    alone.start()
    page.locator(".items", has_text="skipped").wait_for()
    assert states(page) == ["handed in", "skipped", "handed in", "open", "open"]
    assert alone.stop()[0] == 0
    assert levels_of(alone) == ["2", "-", "5", "", ""]


@pytest.mark.parametrize("width", [360, 1280])
def test_who_never_reaches_the_server_again_saves_a_file(
    alone: ServedPage, browser: Any, tmp_path: Path, width: int
) -> None:  # fmt: skip
    page = begun(browser, alone, width)
    page.wait_for_load_state("networkidle")
    assert page.locator("#save-file").count() == 0
    alone.kill()
    for number, keys in ((2, "23"), (3, "44")):
        for key in keys:
            page.keyboard.press(key)
        page.keyboard.press("Control+Enter")
        at(page, number)
    page.get_by_role("button", name="Skip").click()
    at(page, 4)
    page.locator(".notice", has_text="is not sent yet").wait_for()
    page.screenshot(path=tmp_path / "item.png")
    page.get_by_role("button", name="All items").click()
    page.locator(".items").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    axe_finds_nothing(page)
    page.screenshot(path=tmp_path / "list.png", full_page=True)
    with page.expect_download() as downloading:
        page.get_by_role("button", name="Save my answers as a file").click()
    file = tmp_path / downloading.value.suggested_filename
    downloading.value.save_as(file)
    assert file.name == "answers-anna.json"
    said = json.loads(file.read_text("utf-8"))
    assert said.keys() == {"form", "plan", "rater", "answers"}
    fields = {"item", "state", "version", "mark", "seconds", "choices", "texts"}
    assert [answer.keys() for answer in said["answers"]] == [fields] * 3
    shown = page.locator("body").inner_text()
    assert not [text for text in ("Conversation", "clinician", "hidden") if text in file.read_text("utf-8")], shown
    stored = bedside.import_answers(alone.plan_file, files=[file]).results.stored
    assert (stored.new, stored.submitted, stored.skipped) == (3, 2, 1)
    assert levels_of(alone) == ["2", "4", "-", "", ""]
    # The page reaches it after all.
    alone.start()
    page.locator(".items", has_text="skipped").wait_for()
    page.locator("#save-file").wait_for(state="detached")
    assert states(page) == ["handed in", "handed in", "skipped", "open", "open"]
    assert alone.stop()[0] == 0
    plan = read_plan(alone.plan_file)
    assert len(read_store(Run(alone.run.path), plan).revisions) == 3


@pytest.mark.parametrize("lost", ["request", "reply"])
def test_a_tab_that_is_opened_again_shows_as_handed_in_what_was(
    alone: ServedPage, browser: Any, lost: str
) -> None:  # fmt: skip
    page = begun(browser, alone)

    def lose(route: Any) -> None:
        if route.request.method == "PUT" and route.request.post_data_json["state"] == "submitted":
            if lost == "reply":
                route.fetch()
            route.abort()
        else:
            route.continue_()

    page.context.route("**/items/*", lose)
    for key in "23":
        page.keyboard.press(key)
    page.keyboard.press("Control+Enter")
    at(page, 2)
    page.close(run_before_unload=False)
    page.context.unroute("**/items/*")
    again = page.context.new_page()
    again.goto(alone.links["anna"])
    at(again, 2)
    again.get_by_role("button", name="All items").click()
    again.locator(".items button", has_text=": handed in").and_(again.locator(":not(:has-text('not sent'))")).wait_for()
    assert states(again) == ["handed in", "open", "open", "open", "open"]
    assert again.evaluate("localStorage.length") == 0
    again.locator(".items button").first.click()
    at(again, 1)
    again.get_by_role("button", name="Hand in again").wait_for()
    assert alone.stop()[0] == 0
    assert levels_of(alone) == ["2", "", "", "", ""]


def test_back_goes_to_the_item_before_and_stays_on_the_page(alone: ServedPage, browser: Any) -> None:
    page = browser.new_page()
    page.goto("about:blank")
    page.goto(alone.links["anna"])
    page.get_by_role("button", name="Begin").click()
    at(page, 1)
    for key in "23":
        page.keyboard.press(key)
    hand_in(page)
    at(page, 2)
    page.locator("#notes").fill("typed and at once gone back")
    page.go_back()
    at(page, 1)
    assert page.locator("input[name=empathy]:checked").get_attribute("value") == "2"
    page.go_forward()
    at(page, 2)
    assert page.locator("#notes").input_value() == "typed and at once gone back"
    page.go_back()
    at(page, 1)
    page.go_back()
    page.locator(".instructions").wait_for()
    for _ in range(3):
        page.evaluate("history.back()")
        page.wait_for_timeout(300)
        assert page.locator(".instructions").is_visible()
        assert page.url == alone.links["anna"]
    page.get_by_role("button", name="Go on").click()
    at(page, 2)
    page.close()


# -- every page for those who have it read out --


@pytest.mark.parametrize("mode", ["rate", "audit", "findings", "codes", "pairs"])
def test_axe_finds_nothing_on_any_page(run: Run, browser: Any, tmp_path: Path, mode: str) -> None:
    """The instructions, an item as it is opened, where something is missing and where turns are marked, the list, what
    is closed until the training is passed, and what a link that is none opens."""
    options = (
        {**MODES[mode], "training": gold_cases(tmp_path, 2), "training_kappa": 0.9} if mode == "rate" else MODES[mode]
    )
    plan = rating_plan(run, mode=mode, raters=("anna",), overlap=1, **{"per": 2, **options})
    text = tmp_path / "text.md"
    text.write_text("### Consent\n\nPlease read.\n\n# Tasks\n\n#### Breaks\n\n- often\n")
    with serving(plan, run, "--text", str(text)) as served:
        page = opened(browser, served.links["anna"])
        page.locator(".instructions").wait_for()
        axe_finds_nothing(page)
        page.get_by_role("button", name="Begin").click()
        page.locator("fieldset").first.wait_for()
        axe_finds_nothing(page)
        page.get_by_role("button", name="Hand in").click()
        page.locator(".wanted:not(:empty)").first.wait_for()
        axe_finds_nothing(page)
        if page.get_by_role("button", name="Mark turns").count():
            page.get_by_role("button", name="Mark turns").first.click()
            axe_finds_nothing(page)
            page.get_by_role("button", name="Done marking").first.click()
        page.get_by_role("button", name="Keys").click()
        axe_finds_nothing(page)
        page.get_by_role("button", name="Close").click()
        for _ in range(2 if mode == "rate" else 0):
            for name in ("empathy", "goal_alignment"):
                page.locator(f"input[name={name}][value='5']").click()
            page.keyboard.press("Control+Enter")
            page.locator("#feedback li").first.wait_for()
            axe_finds_nothing(page)
            page.get_by_role("button", name="Next").click()
            page.locator("#feedback li").first.wait_for(state="detached")
        page.get_by_role("button", name="All items").click()
        page.locator(".items").wait_for()
        assert page.get_by_text("Training not passed").count() == (mode == "rate")
        axe_finds_nothing(page)
        for end, said in (("", "Open this page by the link"), ("#" + "x" * 43, "This link is not valid")):
            page = opened(browser, f"{served.address}/{end}")
            page.get_by_text(said).wait_for()
            axe_finds_nothing(page)


def test_items_by_need_come_without_loading_again_and_end_when_it_is_enough(tmp_path: Path, browser: Any) -> None:
    run = new_study(tmp_path, cases=6)
    plan = rating_plan(run, raters=("anna", "ben"), overlap=2, rubrics=(EMPATHY,))
    with serving(plan, run, "--until", "mean±.1") as served:
        page = opened(browser, served.links["anna"], width=390)
        page.get_by_role("button", name="Begin").click()
        for number, every in ((1, 4), (2, 4), (3, 4), (4, 6)):
            page.locator("h1", has_text=f"Conversation {number} of {every}").wait_for()
            page.keyboard.press("3")
            hand_in(page)
        page.get_by_role("button", name="All items").click()
        page.get_by_text("2 items to go.").wait_for()
        page.get_by_text("More items come as these are handed in.").wait_for()
        page.get_by_role("button", name="Conversation 5 of 6: open").click()
        page.locator("h1", has_text="Conversation 5 of 6").wait_for()
        # It ends while she is at the fifth, which she hands in.
        answered = {(item.id, "anna") for item in plan.items}
        answered &= {(item, "anna") for item in as_assigned(run, plan).assignment["anna"][:4]}
        stop(run, need_design(run, plan), WorkDone(answered))
        page.keyboard.press("3")
        hand_in(page)
        page.get_by_text("It is enough: the results are as precise as the study needs.").wait_for()
        assert page.locator(".items li").count() == 5
        ben = opened(browser, served.links["ben"])
        ben.get_by_text("It is enough").wait_for()
    assert len(as_assigned(run, plan).assignment["anna"]) == 5


@pytest.mark.parametrize("width", [1440, 360])
def test_a_judges_list_is_corrected_in_a_browser(browser: Any, tmp_path: Path, width: int) -> None:
    """One entry is kept in better words, another moved, another removed, and one added."""
    run, plan = listed(tmp_path)
    item = next(one.id for one in plan.items if place_of(plan, one.id) == 0)
    with serving(plan, run) as served:
        page = opened(browser, served.links["anna"], width=width)
        page.get_by_role("button", name="All items").click()
        page.locator(".items button").nth(plan.assignment["anna"].index(item)).click()
        page.locator("fieldset").first.wait_for()
        for at, label in enumerate((FEAR, MYTH, NONE)):
            page.locator(f"fieldset[data-field='{NAME}__judge_{at}'] input[value='{label}']").check()
        page.locator(f"[data-field='reason__{NAME}__judge_0']").fill("Afraid of the pain")
        page.locator("#hand-in").click()
        page.locator(f"fieldset.wanting[data-field='{NAME}']").wait_for()
        page.locator(f"fieldset[data-field='{NAME}'] input[value='{LISTED}']").check()
        page.locator(f"section[data-field='{NAME}__3'] textarea").fill("Travels far")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        axe_finds_nothing(page)
        page.locator("#hand-in").click()
        page.get_by_text("1 of 4 handed in").wait_for()
        assert served.stop()[0] == 0
    (reason,) = people(run, f"{NAME}.audited")["reason"]
    made = [(one["category"], one["text"], "of_judge" in one) for one in json.loads(reason)["findings"]]
    assert made == [
        (FEAR, "Afraid of the pain", True), (MYTH, "Trusts herbs", True), (COST, "Travels far", False),
    ]  # fmt: skip

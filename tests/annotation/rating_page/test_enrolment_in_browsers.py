"""A study that people enrol in, in real browsers: from the link to how their part ends, in every way that it can."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

import bedside
from bedside.annotation.annotation_plan import AnnotationPlan
from bedside.annotation.page_words import page_words
from bedside.annotation.plan_file import read_plan
from bedside.annotation.rating_page.page_folder import page_folder
from bedside.annotation.rating_page.study_people import EnrolledPerson, People
from bedside.annotation.sampling import make_plan, rater_slots
from bedside.annotation.training_cases import read_training
from bedside.judges.rubrics.rubric_files import find_rubric
from bedside.ratings.run import Run
from tests.annotation.rating_page.pages import ServedPage, serving
from tests.annotation.rating_page.test_page_in_browsers import (
    ARABIC,
    LOWEST_CONTRAST,
    TEXTS,
    axe_finds_nothing,
    conversation,
    english_left,
    hand_in,
    opened,
)
from tests.annotation.study import EMPATHY, GOAL

pytestmark = [pytest.mark.server, pytest.mark.slow]

TITLE = "Empathy in counselling chats"
CONSENT = ["I have read the information.", "I agree that my ratings are kept without my name."]
QUESTIONS: list[dict[str, Any]] = [
    {
        "name": "experience", "question": "How long have you worked as a counsellor?", "kind": "choice",
        "choices": ["not yet", "under a year", "longer"], "required": True, "ends": ["not yet"],
    },
    {
        "name": "places", "question": "Where have you worked?", "kind": "several",
        "choices": ["hospital", "practice", "elsewhere"],
    },
    {"name": "age", "question": "How old are you?", "kind": "number", "required": True},
    {"name": "why", "question": "Why do you take part?", "kind": "text"},
]  # fmt: skip
STUDY: dict[str, Any] = {
    "title": TITLE,
    "information": "# About it\n\nYou rate *empathy*. <script>document.title = 'hacked'</script>\n\n- [more](https://example.org)",
    "consent": CONSENT,
    "contact": "Dr A. Example, a@example.org",
    "questionnaire": QUESTIONS,
    "parameters": "prolific",
    "codes": {
        "completed": "https://example.org/complete?cc=C1&pid={PROLIFIC_PID}", "screened_out": "C2", "timed_out": "C3",
        "full": "C4", "declined": "C5",
    },
    "help": "If this distresses you: **116 123**, day and night.",
    "debriefing": "# What it was about\n\nHalf of the clinicians were computers.",
}  # fmt: skip
#: Keys for the known answers to the cases of a training set, and for answers that are far from them.
GOOD, BAD = ("23", "41"), ("51", "15")


class Study:
    """A study that is served, with what is known of its people."""

    def __init__(self, served: ServedPage, plan: AnnotationPlan, run: Run) -> None:
        self.served, self.plan, self.run = served, plan, run

    def link(self, person: str = "") -> str:
        secret = self.served.enrolment.partition("?")[0]
        return f"{secret}?PROLIFIC_PID={person}&STUDY_ID=s1&SESSION_ID=x1" if person else secret

    def persons(self) -> list[EnrolledPerson]:
        people = People(page_folder(self.run, self.plan).people)
        try:
            return people.persons()
        finally:
            people.close()

    def has_forgotten(self) -> None:
        """Everybody's data are gone; where another command held the run, a moment later."""
        until = time.monotonic() + 30
        while self.persons() and time.monotonic() < until:
            time.sleep(0.2)
        assert self.persons() == []

    def events(self) -> list[str]:
        people = People(page_folder(self.run, self.plan).people)
        try:
            return [event for _, _, event, _ in people.events()]
        finally:
            people.close()


def study_plan(run: Run, folder: Path, slots: int = 3, second: bool = False, language: str = "en") -> AnnotationPlan:
    """Each slot has the same conversation, after a training set of two; where it is failed, a second set of two."""
    cases = [conversation(f"known-{number}", (f"Hello {number}", "I am sad")) for number in range(4 if second else 2)]
    for case in cases[1::2]:
        case["reference"]["answers"] = {"empathy": 4, "goal_alignment": 1}
    (folder / "training.jsonl").write_text("".join(json.dumps(case) + "\n" for case in cases))
    rubrics = tuple(find_rubric(name, language=language) for name in ("empathy", "goal_alignment"))
    known = read_training(folder / "training.jsonl", "rate", rubrics)
    return make_plan(
        run, mode="rate", rubrics=rubrics, raters=rater_slots(slots), per=1, overlap=slots,
        training=known[:2], training_again=known[2:], training_kappa=0.5,
    )  # fmt: skip


@pytest.fixture
def start(run: Run, tmp_path: Path) -> Any:
    """Serves a study: what differs from :data:`STUDY`, and how the plan is drawn."""
    open_pages = []

    def serve(of_plan: dict[str, Any] | None = None, **changed: Any) -> Study:
        plan = study_plan(run, tmp_path, **(of_plan or {}))
        file = tmp_path / "study.yaml"
        said = {key: value for key, value in {**STUDY, **changed}.items() if value is not None}
        file.write_text(json.dumps(said), "utf-8")
        page = serving(plan, run, "--study", str(file))
        open_pages.append(page)
        served = page.__enter__()
        return Study(served, read_plan(served.plan_file), run)

    yield serve
    for page in open_pages:
        page.__exit__(None, None, None)


def agree(page: Any, language: str = "en") -> None:
    page.locator("input[type=checkbox]").first.wait_for()
    for box in page.locator("input[type=checkbox]").all():
        box.check()
    page.get_by_role("button", name=page_words(language).say("agree"), exact=True).click()


def answer(page: Any, experience: str = "longer") -> None:
    page.get_by_label(experience, exact=True).check()
    page.get_by_label("How old are you?").fill("41")
    page.get_by_role("button", name="Go on", exact=True).click()


def train(page: Any, answers: tuple[str, str], first: int = 1, language: str = "en") -> None:
    """Go through a training set, up to the feedback to its last case."""
    words = page_words(language)
    for number, keys in enumerate(answers, first):
        page.locator("h1", has_text=words.say("title_training", number=number, all=first + 1)).wait_for()
        for key in keys:
            page.keyboard.press(key)
        page.keyboard.press("Control+Enter")
        page.locator("#feedback li").first.wait_for()
        assert page.locator("#feedback li.off").count() == (2 if answers == BAD else 0)
        if number == first:
            goes_on(page, language)


def goes_on(page: Any, language: str = "en") -> None:
    page.get_by_role("button", name=page_words(language).say("next"), exact=True).click()
    page.locator("#feedback li").first.wait_for(state="detached")


def looks_well(page: Any, width: int) -> None:
    axe_finds_nothing(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    ratio, element = page.evaluate(LOWEST_CONTRAST)
    assert ratio >= 4.5, element


@pytest.mark.parametrize("width", [1280, 360])
def test_a_person_takes_part_from_the_link_to_the_end_and_reloads_at_every_stage(
    start: Any, browser: Any, width: int
) -> None:
    study = start()
    page = opened(browser, study.link("person-77"), None, width, 800)
    page.get_by_text("You rate empathy.").wait_for()
    assert page.title() == TITLE
    assert page.locator("article a").get_attribute("rel") == "noreferrer noopener"
    page.get_by_role("button", name="I take part", exact=True).click()
    page.locator(".wanted", has_text="tick every statement").wait_for()
    assert page.evaluate("document.activeElement.type") == "checkbox"
    looks_well(page, width)
    page.reload()
    assert page.locator("input:checked").count() == 0
    agree(page)

    page.get_by_role("heading", name="Some questions about you").wait_for()
    assert page.evaluate("document.activeElement.id") == "view"
    secret = page.url.partition("#")[2]
    assert len(secret) >= 20
    assert "person-77" not in page.url
    page.get_by_role("button", name="Go on", exact=True).click()
    page.locator("fieldset.wanting .wanted", has_text="Please answer: How long have you worked").wait_for()
    wanting = [group.get_attribute("data-field") for group in page.locator("fieldset.wanting").all()]
    assert wanting == ["experience", "age"]
    looks_well(page, width)
    page.get_by_label("practice").check()
    page.get_by_label("Why do you take part?").fill("out of curiosity <b>")
    page.get_by_label("How old are you?").fill("forty")
    page.reload()
    assert page.get_by_label("Why do you take part?").input_value() == "out of curiosity <b>"
    assert page.get_by_label("practice").is_checked()
    page.get_by_label("longer").check()
    page.get_by_role("button", name="Go on", exact=True).click()
    page.locator("fieldset[data-field=age] .wanted", has_text="Please answer").wait_for()
    page.get_by_label("How old are you?").fill("41")
    page.get_by_role("button", name="Go on", exact=True).click()

    page.get_by_role("button", name="Begin").wait_for()
    page.reload()
    page.get_by_role("button", name="Begin").click()
    page.locator("h1", has_text="Training 1 of 2").wait_for()
    assert page.get_by_text("116 123").is_visible()
    looks_well(page, width)
    page.locator(".help summary").click()
    train(page, GOOD)
    page.reload()
    page.locator("h1", has_text="Conversation 1 of 1").wait_for()
    assert page.get_by_text("116 123").is_visible()
    page.locator(".help summary").click()
    page.get_by_role("button", name="All items").click()
    page.locator(".items").wait_for()
    # Closed, it is still at hand.
    assert not page.get_by_text("116 123").is_visible()
    assert page.locator(".help summary").is_visible()
    page.locator(".items button").last.click()
    page.locator("fieldset").first.wait_for()
    page.locator("#notes").fill("kept over a reload")
    page.locator("#status", has_text="Kept.").wait_for()
    page.reload()
    assert page.locator("#notes").input_value() == "kept over a reload"
    for key in "44":
        page.keyboard.press(key)
    hand_in(page)

    page.get_by_text("You have done all of it: thank you.").wait_for()
    page.reload()
    link = page.get_by_role("link", name="Go back, so that your part counts")
    assert link.get_attribute("href") == "https://example.org/complete?cc=C1&pid=person-77"
    assert page.get_by_role("heading", name="What it was about").is_visible()
    looks_well(page, width)
    page.go_back()
    page.wait_for_timeout(300)
    assert page.get_by_text("You have done all of it: thank you.").is_visible()

    assert study.served.stop()[0] == 0
    (person,) = study.persons()
    assert (person.rater, person.state) == ("p-1", "completed")
    assert person.parameters == {"PROLIFIC_PID": "person-77", "STUDY_ID": "s1", "SESSION_ID": "x1"}
    assert person.answers == {
        "experience": ["longer"], "places": ["practice"], "age": ["41"], "why": ["out of curiosity <b>"],
    }  # fmt: skip
    named = [path for path in Path(study.run.path).rglob("*") if path.is_file() and b"person-77" in path.read_bytes()]
    assert named == []
    assert page.evaluate("JSON.stringify(Object.values(localStorage)).length") < 50
    assert "person-77" not in page.evaluate("JSON.stringify(Object.entries(localStorage))")


def test_a_dead_link_and_one_that_nobody_filled_in_say_so_alone(start: Any, browser: Any) -> None:
    study = start()
    address, _, secret = study.link().partition("#")
    dead = f"{address}#{'x' * len(secret)}"
    for link, words in (
        (dead, page_words("en").say("bad_link")),
        (study.served.enrolment, page_words("en").say("study_link", name="PROLIFIC_PID")),
    ):
        page = opened(browser, link)
        page.get_by_text(words).wait_for()
        assert page.locator("#view").inner_text() == ""
    assert study.persons() == []


def test_whoever_declines_is_kept_nowhere_and_sees_the_code_after_a_reload(start: Any, browser: Any) -> None:
    study = start()
    page = opened(browser, study.link("person-5"))
    page.get_by_role("button", name="I do not take part").click()
    page.get_by_text("You do not take part.").wait_for()
    axe_finds_nothing(page)
    page.reload()
    page.get_by_text("You do not take part.").wait_for()
    assert page.locator(".code").inner_text() == "C5"
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy the code").click()
    page.get_by_role("status").filter(has_text="Copied.").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == "C5"
    assert page.evaluate("localStorage.length") == 0
    assert study.persons() == []
    assert study.events() == ["declined"]
    # The same link shows the study again.
    page.goto("about:blank")
    page.goto(study.link("person-5"))
    page.get_by_role("button", name="I take part", exact=True).wait_for()


def test_an_answer_of_the_questionnaire_screens_out_and_the_place_is_free_again(start: Any, browser: Any) -> None:
    study = start({"slots": 1})
    page = opened(browser, study.link("person-1"))
    agree(page)
    full = opened(browser, study.link("person-2"))
    full.get_by_text("all places in this study are taken").wait_for()
    assert full.locator(".code").inner_text() == "C4"
    axe_finds_nothing(full)
    answer(page, "not yet")
    page.get_by_text("By your answers this study can't go on with you.").wait_for()
    assert page.locator(".code").inner_text() == "C2"
    axe_finds_nothing(page)
    full.reload()
    agree(full)
    full.get_by_role("heading", name="Some questions about you").wait_for()
    assert [(person.rater, person.state) for person in study.persons()] == [
        ("p-1", "screened_out"), ("p-2", "questionnaire"),
    ]  # fmt: skip


def test_who_fails_the_training_is_shown_the_second_set(start: Any, browser: Any) -> None:
    study = start({"second": True}, questionnaire=None)
    page = opened(browser, study.link("person-1"))
    agree(page)
    page.get_by_role("button", name="Begin").click()
    train(page, BAD)
    goes_on(page)
    page.locator(".notice", has_text="You have not passed the training yet.").wait_for()
    train(page, GOOD, 3)
    goes_on(page)
    page.locator("h1", has_text="Conversation 1 of 1").wait_for()
    assert page.locator(".notice").count() == 0
    assert [person.state for person in study.persons()] == ["rating"]


def test_who_fails_both_sets_sees_the_feedback_before_the_end(start: Any, browser: Any) -> None:
    study = start({"second": True}, questionnaire=None)
    page = opened(browser, study.link("person-1"))
    agree(page)
    page.get_by_role("button", name="Begin").click()
    train(page, BAD)
    goes_on(page)
    page.get_by_text("Please go through a second one.").wait_for()
    train(page, BAD, 3)
    assert [person.state for person in study.persons()] == ["screened_out"]
    goes_on(page)
    page.get_by_text("By your answers this study can't go on with you.").wait_for()
    assert page.locator(".code").inner_text() == "C2"
    assert page.get_by_text("Half of the clinicians were computers.").is_visible()


def test_the_page_says_when_the_time_is_over(start: Any, browser: Any) -> None:
    study = start(questionnaire=None, hours=8 / 3600)
    page = opened(browser, study.link("person-1"))
    # The clock of the person's machine is three hours slow.
    page.add_init_script("const now = Date.now; Date.now = () => now() - 3 * 3600 * 1000;")
    page.reload()
    agree(page)
    page.get_by_role("button", name="Begin").click()
    page.locator("h1", has_text="Training 1 of 2").wait_for()
    assert page.locator("#time-left").inner_text() == "Time left: 1 min"
    page.keyboard.press("2")
    page.get_by_text("The time for taking part is over.").wait_for()
    assert page.locator(".code").inner_text() == "C3"
    axe_finds_nothing(page)
    assert [person.state for person in study.persons()] == ["timed_out"]


def test_a_person_stops_and_all_of_it_is_removed(start: Any, browser: Any) -> None:
    pytest.importorskip("bedside.annotation.withdrawal")
    study = start({"slots": 1})
    page = opened(browser, study.link("person-1"))
    agree(page)
    answer(page)
    page.get_by_role("button", name="Begin").click()
    train(page, GOOD)
    goes_on(page)
    page.locator("h1", has_text="Conversation 1 of 1").wait_for()
    page.locator("#notes").fill("something typed")
    page.locator("#status", has_text="Kept.").wait_for()
    page.get_by_role("button", name="Stop taking part").click()
    page.get_by_text("all of your ratings are removed").wait_for()
    assert page.evaluate("document.activeElement.textContent") == "Go on taking part"
    axe_finds_nothing(page)
    page.keyboard.press("Escape")
    assert page.locator("dialog").count() == 0
    page.get_by_role("button", name="Stop taking part").click()
    study.served.kill()
    page.get_by_role("button", name="Remove all of it and stop").click()
    page.locator("dialog .wanted", has_text="can't be reached").wait_for()
    study.served.start()
    page.get_by_role("button", name="Remove all of it and stop").click()
    page.get_by_text("You have stopped taking part.").wait_for()
    axe_finds_nothing(page)
    assert page.evaluate("localStorage.length") == 0
    page.reload()
    page.get_by_text("You have stopped taking part.").wait_for()
    study.has_forgotten()
    # The place is free, and nobody is enrolled without having been asked.
    page.goto("about:blank")
    page.goto(study.link("person-1"))
    page.get_by_role("button", name="I take part", exact=True).wait_for()
    assert study.persons() == []


@pytest.mark.parametrize("invited", [True, False])
def test_whoever_is_excluded_reads_so_at_the_next_step(
    start: Any, run: Run, browser: Any, tmp_path: Path, invited: bool
) -> None:
    if invited:
        plan = make_plan(run, mode="rate", rubrics=(EMPATHY, GOAL), raters=("anna",), per=2, overlap=1)
        pages = serving(plan, run)
        served, name = pages.__enter__(), "anna"
        page = opened(browser, served.links["anna"])
    else:
        pages, served, name = None, start(questionnaire=None).served, "p-1"
        page = opened(browser, served.enrolment.replace("={{%PROLIFIC_PID%}}", "=person-1"))
        agree(page)
    page.get_by_role("button", name="Begin").click()
    page.locator("fieldset").first.wait_for()
    bedside.study_people(served.plan_file, exclude=name)
    page.keyboard.press("4")
    page.get_by_text("Whoever runs the study has ended your part in it.").wait_for()
    assert page.title() == ("Rating" if invited else TITLE)
    assert page.locator(".notice").count() == 0
    axe_finds_nothing(page)
    if pages is not None:
        pages.__exit__(None, None, None)


def test_a_second_device_resumes_the_same_person(start: Any, browser: Any) -> None:
    study = start()
    page = opened(browser, study.link("person-1"))
    agree(page)
    page.get_by_role("heading", name="Some questions about you").wait_for()
    in_query = study.link("other").replace("PROLIFIC_PID=other&", "").replace("#", "?PROLIFIC_PID=person-1#")
    other = opened(browser, in_query)
    answer(other)
    other.get_by_role("button", name="Begin").wait_for()
    assert "person-1" not in other.url
    page.reload()
    page.get_by_role("button", name="Begin").wait_for()
    assert [(person.rater, person.state) for person in study.persons()] == [("p-1", "training")]
    incomplete = opened(browser, study.link())
    incomplete.get_by_text("PROLIFIC_PID is missing").wait_for()


def test_without_parameters_the_browser_is_known_again(start: Any, browser: Any) -> None:
    study = start(parameters=None, codes={"completed": "C1-{code}"})
    page = opened(browser, study.link())
    agree(page)
    page.get_by_role("heading", name="Some questions about you").wait_for()
    again = page.context.new_page()
    again.goto(study.link())
    answer(again)
    again.get_by_role("button", name="Begin").wait_for()
    assert again.url == page.url
    other = opened(browser, study.link())
    agree(other)
    other.get_by_role("heading", name="Some questions about you").wait_for()
    assert [person.rater for person in study.persons()] == ["p-1", "p-2"]


@pytest.mark.parametrize("lost", ["request", "reply"])
def test_consent_and_answers_reach_a_server_that_was_away(start: Any, browser: Any, lost: str) -> None:
    study = start(parameters=None, codes={})
    page = opened(browser, study.link())
    page.locator("input[type=checkbox]").first.wait_for()
    times = []

    def lose(route: Any) -> None:
        times.append(route.request.post_data_json["mark"])
        if lost == "reply":
            route.fetch()
        route.abort()

    for path, act, what in (
        ("enrolment", agree, "Some questions about you"), ("questionnaire", answer, "Empathy"),
    ):  # fmt: skip
        page.route(f"**/{path}", lose)
        act(page)
        page.locator(".notice", has_text="The server can't be reached.").wait_for()
        if path == "questionnaire":
            # What stands there is kept while it can't be sent.
            assert page.get_by_label("How old are you?").input_value() == "41"
        elif lost == "reply":
            page.reload()
            page.locator(".notice").wait_for()
        page.unroute(f"**/{path}")
        page.get_by_role("heading", name=what, exact=True).wait_for()
        assert page.locator(".notice").count() == 0
    assert len(times) >= 2
    (person,) = study.persons()
    assert (person.state, person.answers["age"]) == ("training", ["41"])
    assert study.events().count("consented") == 1


def test_a_killed_server_is_waited_for_at_consent(start: Any, browser: Any) -> None:
    study = start()
    page = opened(browser, study.link("person-1"))
    page.locator("input[type=checkbox]").first.wait_for()
    study.served.kill()
    agree(page)
    page.locator(".notice", has_text="can't be reached").wait_for()
    study.served.start()
    page.get_by_role("heading", name="Some questions about you").wait_for()
    study.served.kill()
    answer(page)
    page.locator(".notice", has_text="can't be reached").wait_for()
    study.served.start()
    page.get_by_role("button", name="Begin").wait_for()
    assert [person.state for person in study.persons()] == ["training"]


def test_who_agreed_to_another_text_is_asked_again(start: Any, browser: Any, tmp_path: Path) -> None:
    study = start()
    page = opened(browser, study.link("person-1"))
    page.locator("input[type=checkbox]").first.wait_for()
    assert study.served.stop()[0] == 0
    (tmp_path / "study.yaml").write_text(json.dumps({**STUDY, "information": "It is another study now."}))
    study.served.start()
    agree(page)
    page.locator(".notice", has_text="The text on the study was changed.").wait_for()
    page.get_by_text("It is another study now.").wait_for()
    assert page.locator("input:checked").count() == 0
    agree(page)
    page.get_by_role("heading", name="Some questions about you").wait_for()
    assert len(study.persons()) == 1


def test_a_person_needs_no_mouse(start: Any, browser: Any) -> None:
    study = start()
    hosts: set[str] = set()
    page = opened(browser, study.link("person-1"), hosts)
    page.locator("input[type=checkbox]").first.wait_for()

    def tab_to(words: str) -> None:
        for _ in range(30):
            page.keyboard.press("Tab")
            if page.evaluate("const at = document.activeElement; (at.closest('label') ?? at).textContent") == words:
                return
        pytest.fail(f"Tab doesn't reach {words}")

    for statement in CONSENT:
        tab_to(statement)
        page.keyboard.press("Space")
    tab_to("I take part")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Some questions about you").wait_for()
    tab_to("not yet")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    tab_to("elsewhere")
    page.keyboard.press("Space")
    page.keyboard.press("Tab")
    page.keyboard.type("29,5")
    tab_to("Go on")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Begin").wait_for()
    (person,) = study.persons()
    assert person.answers == {"experience": ["longer"], "places": ["elsewhere"], "age": ["29,5"], "why": []}
    assert hosts == {study.served.address.removeprefix("http://")}


@pytest.mark.parametrize("language", ["de", "zh"])
def test_all_of_it_is_in_the_language(start: Any, browser: Any, language: str) -> None:
    words = page_words(language)
    study = start({"language": language, "second": True}, hours=2, questionnaire=QUESTIONS[:1])
    page = opened(browser, study.link("person-1"), None, 360, 740)
    page.locator("input[type=checkbox]").first.wait_for()
    texts: set[str] = set(page.evaluate(TEXTS))
    page.get_by_role("button", name=words.say("agree"), exact=True).click()
    page.locator(".wanted:not(:empty)").wait_for()
    texts |= set(page.evaluate(TEXTS))
    agree(page, language)
    page.get_by_role("heading", name=words.say("questionnaire")).wait_for()
    looks_well(page, 360)
    texts |= set(page.evaluate(TEXTS))
    page.get_by_label("longer").check()
    page.get_by_role("button", name=words.say("go_on"), exact=True).click()
    page.get_by_role("button", name=words.say("begin"), exact=True).click()
    page.locator("fieldset").first.wait_for()
    left = [words.say("time_left_hours", hours=hours, minutes=minutes) for hours, minutes in ((2, 0), (1, 59))]
    assert page.locator("#time-left").inner_text() in left
    looks_well(page, 360)
    page.get_by_role("button", name=words.say("stop"), exact=True).click()
    texts |= set(page.evaluate(TEXTS))
    page.keyboard.press("Escape")
    for number in (1, 3):
        train(page, BAD, number, language)
        goes_on(page, language)
        texts |= set(page.evaluate(TEXTS))
    page.get_by_text(words.say("ending_screened_out")).wait_for()
    page.get_by_role("button", name=words.say("copy")).click()
    page.get_by_text(words.say("copied")).wait_for()
    texts |= set(page.evaluate(TEXTS))
    looks_well(page, 360)
    assert english_left(texts, language) == set()


def test_texts_of_a_study_run_in_the_direction_of_their_language(start: Any, browser: Any) -> None:
    question = {"name": "job", "question": ARABIC[0], "kind": "choice", "choices": list(ARABIC[1:]), "required": True}
    study = start(
        title=ARABIC[1], information=f"# {ARABIC[0]}\n\n{ARABIC[1]}", consent=[ARABIC[2]], questionnaire=[question],
        contact="", help=ARABIC[3],
    )  # fmt: skip
    page = opened(browser, study.link("person-1"), None, 360, 740)
    runs = "element => [getComputedStyle(element).direction, getComputedStyle(element).textAlign]"
    page.locator("input[type=checkbox]").wait_for()
    for place in ("h1", "article", "label .words"):
        assert page.locator(place).first.evaluate(runs) == ["rtl", "start"], place
    looks_well(page, 360)
    agree(page)
    page.locator("fieldset[data-field=job]").wait_for()
    for place in ("legend", "label .words > strong"):
        assert page.locator(place).first.evaluate(runs)[0] == "rtl", place
    looks_well(page, 360)

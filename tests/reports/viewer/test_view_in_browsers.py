"""The page and its copy in a real browser: views, keys, the way back, hostile texts, a phone, the dark, axe-core."""

from __future__ import annotations

import random
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import pytest

import bedside
from bedside.core.words import visible_line
from bedside.ratings.run import Run
from bedside.reports.number_text import number
from bedside.reports.viewer.view_copy import chosen_transcripts, write_copy
from bedside.reports.viewer.viewed_run import ViewedRun, read_query
from bedside.transcripts.transcript import Transcript, Turn
from tests.analysis.simulated_run import simulated_run
from tests.judges.llm.server import JudgeServer
from tests.reports.builders import with_rows
from tests.reports.test_visible_names import NAMES
from tests.reports.viewer.runs import ARABIC, HOSTILE, HOSTILE_ID, ServedView, add_warmth, talks as made_talks

pytestmark = [pytest.mark.server, pytest.mark.slow]
Opener = Callable[..., Any]
#: What is asked of the list, by the page that a server answers for and by the copy.
LISTS: tuple[dict[str, Any], ...] = (
    {}, {"sort": "-turns"}, {"sort": "id"}, {"sort": "-system"}, {"sort": "factor.length", "system": "beta"},
    {"sort": "-missing"}, {"sort": "-differ"}, {"sort": "-flagged"}, {"flagged": "1"}, {"q": "GAMMA"}, {"q": "</i>"},
    {"case": ["case-1", "case-3"], "factor.persona": "terse"}, {"factor.length": ["8", "24"]}, {"missing": "1"},
    {"differ": "1", "sort": "case"}, {"rater": "human:ben", "missing": "1"}, {"metric": "empathy"},
    {"metric": "empathy", "sort": "-value"}, {"metric": "empathy", "sort": "-differ", "differ": "1"},
    {"metric": "empathy", "from": "2.5", "to": "4", "sort": "value"},
    {"metric": "empathy", "rater": "judge:tiny", "sort": "value"},
    {"metric": "empathy", "rater": "human:anna", "missing": "1"}, {"metric": "question", "label": "open"},
    {"metric": "question", "rater": "human:ben", "label": ["closed", "none"], "sort": "-value"},
    {"metric": "words", "sort": "-value"}, {"metric": "empathy.preference"}, {"q": "nobody"},
)  # fmt: skip


@pytest.fixture(scope="module")
def copy(rich: Run, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of a copy of all of it."""
    folder = tmp_path_factory.mktemp("copied") / "copy"
    viewed = ViewedRun(Path(rich.path))
    write_copy(viewed, chosen_transcripts(viewed), folder)
    return (folder / "index.html").as_uri()


@pytest.fixture
def page(open_page: Opener, served: ServedView) -> Any:
    """The list, as the server shows it."""
    return first_page(open_page(served.link))


def show(page: Any, view: str, wanted: dict[str, Any] | None = None) -> None:
    """Go to a view by its address, and wait until it stands there."""
    page.evaluate(
        """(hash) => new Promise((resolve) => {
          if (location.hash === hash) return resolve();
          addEventListener("viewshown", () => resolve(), { once: true });
          location.hash = hash;
        })""",
        f"#/{view}?{urlencode(wanted or {}, doseq=True, quote_via=quote)}",
    )


def cells(page: Any) -> list[list[str]]:
    """The rows of the list as they are read, the column titles first."""
    return page.evaluate(  # type: ignore[no-any-return]
        """() => [...document.querySelectorAll("table.list tr")].map((row) =>
          [...row.children].map((cell) => cell.textContent))"""
    )


def press(page: Any, keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def first_page(page: Any) -> Any:
    page.locator("table.list").wait_for()
    return page


def test_the_copy_lists_what_the_server_lists(page: Any, open_page: Opener, copy: str) -> None:
    copied = first_page(open_page(copy))
    seen = set()
    for wanted in LISTS:
        for one in (page, copied):
            show(one, "list", wanted)
        assert cells(page) == cells(copied), wanted
        seen.add(tuple(row[0] for row in cells(page)[1:]))
    assert len(seen) > len(LISTS) // 2


def test_a_conversation_reads_the_same_in_the_copy(open_page: Opener, served: ServedView, copy: str) -> None:
    texts = []
    for address in (served.link, copy):
        page = first_page(open_page(address))
        show(page, "conversation", {"id": HOSTILE_ID, "sort": "-turns"})
        page.locator(".asked button").first.wait_for()
        text = page.locator("#view").inner_text()
        page.locator(".asked button").first.click()
        page.locator("dialog pre").first.wait_for()
        texts.append((text, page.locator("dialog").inner_text()))
    assert texts[0] == texts[1]
    said, judged = texts[0]
    assert "human:ben says <b>" in said
    assert all(part in judged for part in ("because of turn 0", "The rubric", HOSTILE[0]))


def test_hostile_texts_stay_texts(open_page: Opener, served: ServedView, copy: str) -> None:
    for address in (served.link, copy):
        page = first_page(open_page(address))
        for view, wanted in (
            ("list", {"q": "<i>gamma</i>"}),
            ("conversation", {"id": HOSTILE_ID}),
            ("pair", {"id": HOSTILE_ID, "other": "case-0/alpha"}),
        ):
            show(page, view, wanted)
            made = "document.querySelectorAll('#view :is(i, b, u, img, script, style)').length"
            assert page.evaluate(made) == 0
        show(page, "conversation", {"id": HOSTILE_ID})
        said = page.locator(".turns .said").all_inner_texts()
        plain = [re.sub(r"\s+", " ", text) for text in HOSTILE]
        assert [re.sub(r"\s+", " ", text) for text in said] == plain
        assert page.locator("h1").inner_text() == visible_line(HOSTILE_ID)
        assert page.evaluate("window.stolen") is None


def test_in_names_nothing_hides_and_texts_are_as_they_were_said(open_page: Opener, tmp_path: Path) -> None:
    case, system, speaker, rater = (f"{word}\u202etxt\u2066" for word in ("case", "system", "speaker", "human:rater"))
    turns = (Turn(0, "clinician", speaker, "Say \u202eabc\u202c."), Turn(1, "patient", "Client", "I do."))
    talks = [Transcript(f"{case}-{n}", turns, system=system, case_id=case, language="en") for n in range(2)]
    run = bedside.score(talks, out=tmp_path / "run", metrics=["structure"]).run
    head = (talks[0].id, system, case, "transcript", "warmth", rater, 0)
    view = ServedView(Path(with_rows(run, [(*head, 3.0, None, "Because \u202e.", None)]).path))
    try:
        page = first_page(open_page(view.link))
        for wanted in ("list", "conversation"):
            show(page, wanted, {"id": talks[0].id})
            outside = page.evaluate("""() => {
              const copy = document.body.cloneNode(true);
              copy.querySelectorAll(".said, p[dir=auto], pre, textarea").forEach((one) => one.remove());
              const told = [...copy.querySelectorAll("[title], [aria-label]")].map((one) => one.title + one.ariaLabel);
              return [document.title, copy.textContent, ...told].join("|");
            }""")
            assert not set("\u202e\u2066") & set(outside)
            names = (case, system, *((speaker, rater.removeprefix("human:")) if wanted == "conversation" else ()))
            assert all(visible_line(name) in outside for name in names)
        assert "Say \u202eabc\u202c." in page.locator(".turns .said").all_text_contents()
        hiding = [name for name in NAMES if not "\ud800" <= name[1] <= "\udfff"]
        shown = "([place, names]) => import(place).then(({ visible }) => names.map(visible))"
        assert page.evaluate(shown, [f"{view.address}/files/elements.js", hiding]) == [*map(visible_line, hiding)]
    finally:
        view.stop()


def test_the_secret_leaves_the_address_and_links_go_on_working(
    page: Any, open_page: Opener, served: ServedView
) -> None:
    assert served.secret not in page.url
    show(page, "conversation", {"id": "case-1/beta"})
    # Another window of the same browser opens the link to a view.
    other = page.context.new_page()
    other.goto(page.url)
    other.locator("h1", has_text="case-1/beta").wait_for()
    # Another browser, which never had the secret, sees nothing.
    stranger = open_page(page.url)
    stranger.locator("h1", has_text="can't be shown").wait_for()
    assert "earlier start" in stranger.locator("#view").inner_text()
    assert ARABIC[0] not in stranger.content()


def test_the_list_opens_with_what_is_worth_a_look(page: Any, open_page: Opener, copy: str, rich: Run) -> None:
    viewed = ViewedRun(Path(rich.path))
    queries = (("flagged", "Flagged"), ("differ", "Raters differ"), ("missing", "No rating came"))
    for opened in (page, first_page(open_page(copy))):
        opened.locator(".first li").nth(len(queries) - 1).wait_for()
        lines = opened.locator(".first li").all_inner_texts()
        for (name, title), line in zip(queries, lines, strict=True):
            chosen = viewed.page(read_query([(name, "1"), ("sort", f"-{name}")]), 0)
            assert line.startswith(f"{title}: {chosen['total']} of 15 ")
            first = chosen["rows"][0]
            assert re.sub(r"\s+", " ", f"{first['id']} ({first[name]})") in re.sub(r"\s+", " ", line)
        opened.locator(".first li a").first.click()
        opened.locator(".chips li", has_text="flagged").wait_for()
        assert opened.locator(".first").count() == 0


def test_back_leads_through_filters_and_views(page: Any) -> None:
    page.get_by_role("combobox", name="System").select_option("beta")
    page.locator(".pager", has_text="1–5 of 5").first.wait_for()
    page.get_by_role("link", name="Turns").click()
    page.locator("th[aria-sort=descending]", has_text="Turns").wait_for()
    page.get_by_role("link", name="case-3/beta", exact=True).click()
    page.locator("h1", has_text="case-3/beta").wait_for()
    # The next one is the next of the list as it was filtered and sorted.
    page.locator(".ways .soft", has_text="of 5").wait_for()
    page.locator(".same a", has_text="alpha").click()
    page.locator("h1", has_text="Side by side").wait_for()
    page.go_back()
    page.locator("h1", has_text="case-3/beta").wait_for()
    page.go_back()
    page.locator("th[aria-sort=descending]", has_text="Turns").wait_for()
    page.locator("a:focus", has_text="case-3/beta").wait_for()
    page.go_back()
    page.locator("table.list:not(:has([aria-sort]))").wait_for()
    page.go_back()
    page.locator(".pager", has_text="1–15 of 15").first.wait_for()
    assert page.get_by_role("combobox", name="System").input_value() == "\0"


def test_all_of_it_goes_by_keys(page: Any) -> None:
    press(page, "jj")
    second = cells(page)[2][0]
    assert page.locator("a:focus").text_content() == second
    press(page, "kj")
    page.keyboard.press("Enter")
    page.locator(f"h1:text-is('{second}')").wait_for()
    press(page, "jj")
    page.locator("#turn-1:focus").wait_for()
    page.keyboard.press("k")
    page.locator("#turn-0:focus").wait_for()
    page.keyboard.press("n")
    page.locator(f"h1:not(:text-is('{second}'))").wait_for()
    page.keyboard.press("p")
    page.locator(f"h1:text-is('{second}')").wait_for()
    page.keyboard.press("?")
    page.locator("dialog dd", has_text="next conversation of the list").wait_for()
    page.keyboard.press("Escape")
    page.locator("dialog[open]").wait_for(state="detached")
    page.keyboard.press("u")
    page.locator("a:focus", has_text=second).wait_for()
    page.keyboard.press("/")
    page.locator("#search:focus").wait_for()
    page.keyboard.type("case-2/")
    page.keyboard.press("Enter")
    page.locator(".chips li", has_text="case-2/").wait_for()
    assert len(cells(page)) == 4


def test_several_raters_stand_side_by_side(page: Any) -> None:
    show(page, "conversation", {"id": "case-0/alpha"})
    heads = page.locator(".rated thead th").all_inner_texts()
    assert [head.split("\n")[0] for head in heads] == ["Metric", "anna", "ben", "tiny"]
    row = page.locator(".rated tr", has_text="Empathy")
    assert "missing: too short to rate" in row.inner_text()
    # What was said of a turn stands beside it.
    turn = page.locator("#turn-2 .marks")
    assert {"anna", "ben", "Question"} <= set(re.findall(r"\w+", turn.inner_text()))
    assert page.locator("#turn-2 .differs").count() == 1
    assert page.locator("#turn-0 .differs").count() == 0


def test_numbers_are_rounded_as_tables_round_them(page: Any) -> None:
    draws = random.Random(3)
    values = [(draws.randint(-400, 400) / 16, draws.randint(0, 4)) for _ in range(2000)]
    values += [(draws.gauss(0, 0.02), draws.randint(0, 4)) for _ in range(2000)]
    values = [(value, digits) for value, digits in values if not value.is_integer()]
    shown = page.evaluate(
        """async (values) => {
          const { shownNumber } = await import("/files/numbers.js");
          return values.map(([value, digits]) => shownNumber(value, digits));
        }""",
        values,
    )
    assert shown == [number(value, digits).replace("−", "-") for value, digits in values]


def test_a_bound_goes_with_the_metric_that_it_was_for(page: Any) -> None:
    show(page, "list", {"metric": "empathy", "from": "4"})
    page.locator(".chips li", has_text="from 4").wait_for()
    page.get_by_role("combobox", name="Metric").select_option("\0")
    page.locator(".pager", has_text="1–15 of 15").first.wait_for()
    assert page.locator(".chips li").count() == 0


def test_the_reply_shown_is_the_one_that_the_rating_was_made_of(open_page: Opener, tmp_path: Path) -> None:
    """The store keeps what was asked at another temperature, too."""
    with JudgeServer() as server:
        run = bedside.judge(made_talks()[:3], server.judge, out=tmp_path / "run", rubrics=["empathy"]).run
        for degree in (0.7, 0.0, 0.7):
            bedside.judge(run, server.judge, rubrics=["empathy"], temperature=degree)
            viewed = ViewedRun(Path(run.path))
            write_copy(viewed, chosen_transcripts(viewed), tmp_path / "copy")
            page = first_page(open_page((tmp_path / "copy" / "index.html").as_uri()))
            for talk in made_talks()[:3]:
                show(page, "conversation", {"id": talk.id})
                page.locator(".asked button").first.click()
                page.locator("dialog .facts").wait_for()
                assert f'"temperature":{degree}' in page.locator("dialog .facts").inner_text()


def test_hidden_states_stand_beside_their_turns(open_page: Opener, tmp_path: Path) -> None:
    run = simulated_run(tmp_path)
    viewed = ViewedRun(Path(run.path))
    write_copy(viewed, chosen_transcripts(viewed), tmp_path / "copy")
    view = ServedView(Path(run.path))
    try:
        for address in (view.link, (tmp_path / "copy" / "index.html").as_uri()):
            page = first_page(open_page(address))
            show(page, "conversation", {"id": str(run.index["id"][0])})
            page.locator("details.state").first.wait_for()
            page.locator("details.state summary").first.click()
            assert "of asthma" in page.locator("details.state").first.inner_text()
    finally:
        view.kill()


def test_a_run_that_changes_is_read_anew_while_it_is_looked_at(open_page: Opener, rich: Run, tmp_path: Path) -> None:
    run = Run(shutil.copytree(rich.path, tmp_path / "run"))
    view = ServedView(Path(run.path))
    try:
        page = first_page(open_page(view.link))
        show(page, "conversation", {"id": "case-0/alpha"})
        add_warmth(run)
        page.locator(".reason", has_text="Kindly.").wait_for()
        assert "The run has changed" in page.locator("#notices").inner_text()
        view.kill()
        page.locator(".notice", has_text="can't be reached any more").wait_for()
    finally:
        view.kill()


@pytest.mark.parametrize("how", ["desktop", "dark", "phone"])
def test_axe_finds_nothing_and_nothing_is_wider_than_the_screen(
    open_page: Opener, served: ServedView, how: str
) -> None:
    axe = pytest.importorskip("axe_playwright_python.base").AXE_FILE_PATH.read_text("utf-8")
    size = {"width": 390, "height": 800} if how == "phone" else {"width": 1440, "height": 900}
    scheme = "dark" if how == "dark" else "light"
    # axe-core is put into the page from outside, which its policy wouldn't let in.
    page = first_page(open_page(served.link, viewport=size, color_scheme=scheme, bypass_csp=True))
    for view, wanted in (
        ("list", {}),
        ("list", {"metric": "question", "missing": "1", "sort": "-value"}),
        ("list", {"q": "nobody"}),
        ("conversation", {"id": "case-0/alpha"}),
        ("conversation", {"id": "case-1/beta"}),
        ("conversation", {"id": "nobody"}),
        ("pair", {"id": "case-0/alpha", "other": "case-0/beta"}),
    ):
        show(page, view, wanted)
        page.evaluate(axe)
        found = page.evaluate("() => axe.run()")["violations"]
        assert [(one["id"], one["nodes"][0]["html"]) for one in found] == [], (view, wanted)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (view, wanted)
    page.keyboard.press("?")
    page.locator("dialog dd").first.wait_for()
    page.evaluate(axe)
    assert page.evaluate("() => axe.run()")["violations"] == []


def test_texts_run_in_the_direction_of_their_language(page: Any) -> None:
    for name, direction in (("case-1/beta", "rtl"), ("case-1/alpha", "ltr")):
        show(page, "conversation", {"id": name})
        computed = page.evaluate("getComputedStyle(document.querySelector('.turns .said')).direction")
        assert computed == direction


def test_names_stand_at_the_left_in_whatever_script_they_are(page: Any) -> None:
    """One beneath the other in the list, and where the eye looks for the title."""
    side = """(selector) => {
      const element = document.querySelector(selector);
      element.textContent = "منظومة";
      const style = getComputedStyle(element);
      return [style.direction, style.textAlign];
    }"""
    assert page.evaluate(side, "table.list td[dir=auto]") == ["rtl", "left"]
    show(page, "conversation", {"id": "case-1/beta"})
    assert page.evaluate(side, "h1[dir=auto]") == ["rtl", "left"]

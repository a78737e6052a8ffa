"""A page at which several people talk at once: what each is shown, what is taken, and what a kill leaves."""

from __future__ import annotations

import asyncio
import json
import shutil
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from bedside import simulate
from bedside.core.errors import InputError, RunError
from bedside.core.page_serving import PagePlace, free_port
from bedside.simulation.person import PersonAtKeyboard, TypedLines
from bedside.simulation.simulators.calls import Call
from bedside.simulation.simulators.case_files import read_cases
from bedside.simulation.simulators.contract import SIMULATORS
from bedside.simulation.talk_page import OutOfTurnError, PageScreen, TalkPage, _SentLine


def line_of(screen: PageScreen, number: int, text: str, session: str | None = None) -> _SentLine:
    return _SentLine(session=session or screen.news("", 0)["session"], number=number, text=text)


class Waiting:
    """A person's side, which asks the screen for lines and keeps them; what it got stands in ``got``."""

    def __init__(self, lines: int, screen: PageScreen | None = None) -> None:
        self.screen = screen or PageScreen("clinician")
        self.got: list[str] = []
        self.thread = threading.Thread(target=self._ask, args=(lines,), daemon=True)
        self.thread.start()
        self.until(lambda: self.screen.news("", 0)["prompt"] is not None)

    def _ask(self, lines: int) -> None:
        for _ in range(lines):
            try:
                self.got.append(self.screen.line("You: "))
            except EOFError:
                self.got.append("(end)")
                return
            self.screen.kept()

    @staticmethod
    def until(holds: Callable[[], bool]) -> None:
        end = time.monotonic() + 20
        while not holds():
            assert time.monotonic() < end
            time.sleep(0.01)


def test_a_line_that_is_sent_again_is_taken_once() -> None:
    person = Waiting(2)
    first = line_of(person.screen, 0, "Where does\nit hurt?")
    person.screen.send(first)
    person.screen.send(first)
    Waiting.until(lambda: person.screen.news("", 0)["prompt"] is not None)
    person.screen.send(line_of(person.screen, 1, "Since when?"))
    person.thread.join(10)
    assert person.got == ["Where does it hurt?", "Since when?"]
    assert [entry["text"] for entry in person.screen.news("", 0)["shown"]] == [f"You: {line}" for line in person.got]


def test_another_text_in_the_place_of_one_that_was_taken_is_refused() -> None:
    """Two windows on one link send different texts under the same number: only the first is acknowledged."""
    person = Waiting(1)
    person.screen.send(line_of(person.screen, 0, "Where does it hurt?"))
    person.thread.join(10)
    with pytest.raises(OutOfTurnError):
        person.screen.send(line_of(person.screen, 0, "Since when?"))
    person.screen.send(line_of(person.screen, 0, "Where does it hurt?"))
    assert person.got == ["Where does it hurt?"]


def test_time_runs_from_the_moment_that_a_page_shows_what_is_asked(tmp_path: Path) -> None:
    """Nobody opens the link for longer than there is time; then a line is typed in half a second."""
    screen = PageScreen("clinician")
    lines = TypedLines(tmp_path / "typed.jsonl")
    person = PersonAtKeyboard(screen, lines, minutes=1 / 60)
    call = Call("clinician", "message", 1, "You are the doctor.")
    thread = threading.Thread(target=person.reply, args=("one", call), daemon=True)
    thread.start()
    Waiting.until(lambda: screen._prompt is not None)
    time.sleep(1.2)
    news = screen.news("", 0)
    assert news["left"] == 1
    assert not [entry["text"] for entry in news["shown"] if "time is over" in entry["text"]]
    time.sleep(0.5)
    screen.send(line_of(screen, 0, "Where does it hurt?"))
    thread.join(10)
    (typed,) = lines.of("one", "clinician")
    assert 0.5 <= typed.seconds < 1.0


def test_help_at_a_page_is_of_a_page(tmp_path: Path) -> None:
    screen = PageScreen("clinician")
    person = PersonAtKeyboard(screen, TypedLines(tmp_path / "typed.jsonl"))
    call = Call("clinician", "message", 1, "You are the doctor.")
    thread = threading.Thread(target=person.reply, args=("one", call), daemon=True)
    thread.start()
    Waiting.until(lambda: screen.news("", 0)["prompt"] is not None)
    screen.send(line_of(screen, 0, "/help"))
    Waiting.until(lambda: screen.news("", 0)["prompt"] is not None)
    shown = " ".join(entry["text"] for entry in screen.news("", 0)["shown"])
    assert "/chart" in shown
    assert "Close the page" in shown
    assert "Ctrl" not in shown
    screen.send(line_of(screen, 1, "Where does it hurt?"))
    thread.join(10)


def test_what_isnt_waited_for_is_refused() -> None:
    person = Waiting(1)
    with pytest.raises(OutOfTurnError):
        person.screen.send(line_of(person.screen, 1, "too early"))
    with pytest.raises(OutOfTurnError):
        person.screen.send(line_of(person.screen, 0, "of another start", session="x"))
    person.screen.close()
    person.thread.join(10)
    assert person.got == ["(end)"]


def test_a_line_counts_as_sent_once_it_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bedside.simulation.talk_page._KEPT_SECONDS", 0.2)
    screen = PageScreen("patient")
    threading.Thread(target=screen.line, args=("You: ",), daemon=True).start()
    Waiting.until(lambda: screen.news("", 0)["prompt"] is not None)
    with pytest.raises(RunError):
        screen.send(line_of(screen, 0, "It hurts."))
    screen.kept()
    screen.send(line_of(screen, 0, "It hurts."))


def test_a_page_shows_what_is_new_and_a_new_session_all() -> None:
    screen = PageScreen("clinician")
    for text in ("one", "two", "three"):
        screen.show(text)
    session = screen.news("", 0)["session"]
    assert [entry["text"] for entry in screen.news(session, 2)["shown"]] == ["three"]
    assert [entry["text"] for entry in screen.news("another", 2)["shown"]] == ["one", "two", "three"]


@pytest.mark.parametrize(
    ("field", "more"), [("host", {"host": "0.0.0.0"}), ("page_address", {"page_address": "https://a.example"})]
)
def test_places_without_a_page_are_refused(tmp_path: Path, field: str, more: dict[str, Any]) -> None:
    with pytest.raises(InputError) as refusal:
        simulate(None, "medconceal", tmp_path / "talks", clinician="human:anna", **more)
    assert refusal.value.where == f"`{field}`"


def test_a_page_needs_people(tmp_path: Path) -> None:
    with pytest.raises(InputError) as refusal:
        simulate(None, "medconceal", tmp_path / "talks", clinician="script:good", page=True)
    assert refusal.value.where == "`page`"


class Client:
    """What a browser asks in the name of one person."""

    def __init__(self, link: str) -> None:
        self.address, _, self.secret = link.partition("/#")
        self.seen: list[str] = []
        self.session, self.taken, self.done = "", 0, False

    def ask(self, path: str, body: Any = None, secret: str | None = None) -> Any:
        request = urllib.request.Request(
            f"{self.address}/{path}",
            data=None if body is None else json.dumps(body).encode(),
            method="GET" if body is None else "PUT",
            headers={"Authorization": f"Bearer {secret or self.secret}", "Origin": self.address},
        )
        with urllib.request.urlopen(request, timeout=20) as response:
            return json.load(response)

    def turn(self, text: str) -> bool:
        """Say something if it is asked for; whether it was."""
        news = self.ask("news?" + urlencode({"session": self.session, "since": len(self.seen)}))
        self.seen[news["from"] :] = [entry["text"] for entry in news["shown"]]
        self.session, self.taken, self.done = news["session"], news["taken"], news["done"]
        if news["prompt"] is None:
            return False
        words = text if news["prompt"] == "You: " else ""
        self.ask("line", {"session": self.session, "number": self.taken, "text": words})
        return True


@pytest.mark.server
def test_two_people_talk_at_once_and_see_their_own_only(tmp_path: Path) -> None:
    links: dict[str, str] = {}
    talks: list[Any] = []

    def had() -> None:
        talks.append(
            simulate(
                None, "medconceal", tmp_path / "talks", clinician=("human:anna", "human:ben"), sample=2, page=True,
                port=free_port(8086), links=lambda made: links.update(made),
            )
        )  # fmt: skip

    thread = threading.Thread(target=had, daemon=True)
    thread.start()
    Waiting.until(lambda: len(links) == 2)
    people = {name: Client(link) for name, link in links.items()}
    with pytest.raises(urllib.error.HTTPError) as refusal:
        people["human:anna"].ask("news", secret="x" * 32)
    assert refusal.value.code == 401
    said: Mapping[str, str] = {"human:anna": "Tell me about your sleep", "human:ben": "What is on your mind"}
    end = time.monotonic() + 90
    while thread.is_alive() and time.monotonic() < end:
        for name, person in people.items():
            if not person.done:
                try:
                    person.turn(f"{said[name]}, point {person.taken}?")
                except (urllib.error.URLError, ConnectionError):  # all are done, and the page with them
                    thread.join(5)
        time.sleep(0.02)
    (simulation,) = talks
    transcripts = list(simulation.transcripts())
    assert sorted(transcript.system for transcript in transcripts) == ["human:anna"] * 2 + ["human:ben"] * 2
    for transcript in transcripts:
        own = [turn.text for turn in transcript.turns if turn.role == "clinician"]
        assert all(text.startswith(said[transcript.system]) for text in own)
    assert not any(said["human:ben"] in text for text in people["human:anna"].seen)
    simulator = SIMULATORS.load("medconceal")
    hidden = [
        text
        for _, case in read_cases(simulator.cases)
        for concern in case.hidden.concerns
        for text in (concern.text, *concern.evidence)
    ]
    assert not [text for text in hidden for person in people.values() for seen in person.seen if text in seen]
    (secrets,) = (tmp_path / "talks-page").glob("links.json")
    kept = b"".join(path.read_bytes() for path in (tmp_path / "talks").rglob("*") if path.is_file())
    assert not [secret for secret in json.loads(secrets.read_text())["raters"].values() if secret.encode() in kept]


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[PageScreen, str]]:
    """A screen whose page is served, and its link."""
    links: dict[str, str] = {}
    place = PagePlace(port=free_port(8086))
    page = TalkPage(place, tmp_path / "talks", links=lambda made: links.update(made))
    screen = page.screen("human:anna", "clinician")
    loop = asyncio.new_event_loop()
    ended = asyncio.Event()

    async def serve() -> None:
        async with page.served():
            await ended.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),), daemon=True)
    thread.start()
    Waiting.until(lambda: bool(links))
    yield screen, links["human:anna"]
    screen.finish()
    loop.call_soon_threadsafe(ended.set)
    thread.join(20)
    loop.close()


@pytest.fixture
def windows() -> Iterator[Callable[[str], Any]]:
    """Opens links in a browser."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("no chromium here")
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as started:
        launched = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])

        def opened(link: str) -> Any:
            page = launched.new_page()
            page.set_default_timeout(15_000)
            page.goto(link)
            return page

        yield opened
        launched.close()


@pytest.mark.server
@pytest.mark.slow
def test_of_two_windows_texts_none_is_lost(served: tuple[PageScreen, str], windows: Callable[[str], Any]) -> None:
    screen, link = served
    person = Waiting(2, screen)
    first, second = windows(link), windows(link)
    for page in (first, second):
        page.locator("#form").wait_for()
    second.route("**/news**", lambda route: route.abort())  # it doesn't see yet what the first one sends
    first.locator("#line").fill("Where does it hurt?")
    first.keyboard.press("Enter")
    first.locator("#talk p", has_text="You: Where does it hurt?").wait_for()
    assert first.locator("#line").input_value() == ""
    second.locator("#line").fill("Since when?")
    second.keyboard.press("Enter")
    second.locator("#state.trouble", has_text="is still in the box").wait_for()
    second.unroute("**/news**")
    second.locator("#talk p", has_text="You: Where does it hurt?").wait_for()
    second.locator("#state.trouble", has_text="It is your turn.").wait_for()
    assert second.locator("#line").input_value() == "Since when?"
    second.locator("#send").click()
    person.thread.join(10)
    assert person.got == ["Where does it hurt?", "Since when?"]

"""The report's page in a real browser, the transcripts it points at, and what it holds back."""

from __future__ import annotations

import html
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import bedside
from bedside.analysis.ratings_view import open_ratings_view
from bedside.cli import main
from bedside.ratings.rating_files import import_ratings, read_rating_file
from bedside.ratings.rating_reading import RatingReading
from bedside.ratings.run import Run
from bedside.ratings.scales import parse_scales
from bedside.reports.build import cited, extremes, review, turns_of, write_report
from bedside.reports.checklist import CHECKLISTS, FACTS, OPEN, checklists
from bedside.scoring.score import score
from bedside.transcripts import Transcript, read_transcripts
from tests.conftest import conversation
from tests.metrics.tiny import MAKERS

EXAMPLES = Path(bedside.__file__).parent / "examples"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run whose ratings have reasons that quote turns, as a judge's have."""
    folder = tmp_path_factory.mktemp("page")
    metrics = ["words", "open_question_ratio", "question", "percent_complex_reflections"]
    made = score([EXAMPLES / "transcripts.jsonl"], folder / "run", metrics=metrics).run
    rows = ["item,rater,metric,value,reason"]
    for position, transcript in enumerate(read_transcripts([EXAMPLES / "transcripts.jsonl"])):
        said = transcript.turns[3].text.replace('"', "'")
        reason = f'See turn 2: ""{said}"" <script>alert(1)</script> & more'
        rows += [f'{transcript.id},{rater},empathy,{1 + (position + extra) % 5},"{reason}"'
                 for extra, rater in enumerate(("anna", "ben"))]  # fmt: skip
    file = folder / "ratings.csv"
    file.write_text("\n".join(rows) + "\n", "utf-8")
    import_ratings(made, file, read_rating_file(file, RatingReading(scales=parse_scales(["1-5"]))))
    return Run(made.path)


@pytest.fixture(scope="module")
def page(run: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("report")
    write_report(run, formats=["html"], out=out)
    return out / "report.html"


# -- what is pointed at -----------------------------------------------------------------------------


def test_the_ends_are_the_highest_and_lowest(run: Run) -> None:
    view = open_ratings_view(run.path)
    found = extremes(view)
    assert found
    for one in found:
        values = view.transcript_values([one.metric]).drop_nulls("value")
        mine = values.filter(values["group"] == one.raters)["value"].to_list()
        assert one.value == (max(mine) if one.end == "highest" else min(mine))
        assert one.shared == mine.count(one.value)


def test_turns_coded_are_the_marks_of_a_measure_made_of_codes(run: Run) -> None:
    view = open_ratings_view(run.path)
    found = review(view, run)
    highest = next(
        one for one in found.extremes
        if (one.metric, one.end) == ("open_question_ratio", "highest") and one.raters.startswith("algorithm:")
    )  # fmt: skip
    codes = {
        int(unit.partition(":")[2])
        for name, unit, metric, rater, label in view.ratings.select(
            "transcript_id", "unit", "metric", "rater", "label"
        ).iter_rows()
        if (name, metric, rater) == (highest.transcript, "question", highest.raters)
        and label not in (None, "none")
    }
    assert set(turns_of(found, highest)) == codes


@pytest.mark.model
@pytest.mark.slow
def test_turns_that_contradict_each_other_are_both_marked(tmp_path: Path) -> None:
    parameters = MAKERS["consistency"](tmp_path / "model")
    file = tmp_path / "three.jsonl"
    lines = (EXAMPLES / "transcripts.jsonl").read_text("utf-8").splitlines(keepends=True)
    file.write_text("".join(lines[:3]), "utf-8")
    made = score(
        [file], tmp_path / "run", metrics=["consistency"],
        parameters={"consistency": parameters},
    ).run  # fmt: skip
    found = review(open_ratings_view(made.path), Run(made.path))
    pairs = {
        (name, int(unit.partition(":")[2]), int(re.findall(r"with turn (\d+)", reason)[0]))
        for name, unit, reason in made.ratings.filter(metric="contradiction").drop_nulls("value").select(
            "transcript_id", "unit", "reason"
        ).iter_rows()
    }  # fmt: skip
    shown = [
        one for one in found.extremes if one.metric.startswith(("self_consistency", "contradiction_rate"))
    ]
    assert shown
    for one in shown:
        transcript = found.transcripts[one.transcript]
        role = one.metric.partition(".")[2]
        marked = turns_of(found, one)
        assert marked
        assert {transcript.turns[turn].role for turn in marked} == {role}
        for turn in marked:
            assert any((one.transcript, a, b) in pairs for a in marked for b in marked if turn in (a, b))


def _talk() -> Transcript:
    return conversation(
        ("clinician", "What brings you here?"),
        ("patient", "I can't sleep, and I worry about the money all night."),
        ("clinician", "All night?"),
    )


@pytest.mark.parametrize(
    ("reason", "turns"),
    [
        ("The clinician asks openly in turn 0.", [0]),
        ("Turns 0 and 2 are short.", [0, 2]),
        ("Turns 0, 1 and 2", [0, 1, 2]),
        ("In turn 7 nothing is said: there is no such turn.", []),
        ("The patient says “worry about the money”.", [1]),
        ('Says "I can\'t sleep, and I WORRY", clearly.', [1]),
        ("One word “night” is no quote to look for.", []),
        ("Nobody said “we went to the sea together”.", []),
        ("", []),
    ],
)
def test_a_reason_points_at_turns(reason: str, turns: list[int]) -> None:
    assert [mark.turn for mark in cited(reason, _talk())] == turns


def test_without_text_no_words_are_kept(run: Run) -> None:
    found = review(open_ratings_view(run.path), run, text=False)
    assert not found.transcripts
    assert not any(one.reasons for one in found.extremes)


def test_large_transcripts_are_left_out_and_counted(run: Run) -> None:
    found = review(open_ratings_view(run.path), run, most_characters=3000)
    shown = sum(len(turn.text) for transcript in found.transcripts.values() for turn in transcript.turns)
    assert shown <= 3000
    assert found.left_out == len({one.transcript for one in found.extremes}) - len(found.transcripts) > 0


@pytest.mark.slow
def test_no_sentence_of_any_transcript_stands_in_a_page_without_text(run: Run, tmp_path: Path) -> None:
    formats = ("html", "md", "csv", "latex", "svg")
    _, files = write_report(run, out=tmp_path / "report", formats=formats, text=False)
    assert {file.suffix for file in files} == {".html", ".md", ".csv", ".tex", ".svg"}
    written = "".join(file.read_text("utf-8") for file in files)
    plain = html.unescape(written)
    for transcript in read_transcripts([EXAMPLES / "transcripts.jsonl"]):
        for turn in transcript.turns:
            for sentence in re.split(r"(?<=[.?!])\s+", turn.text):
                if len(sentence.split()) > 3:
                    assert sentence not in plain


def test_a_run_that_keeps_no_text_has_a_page(tmp_path: Path) -> None:
    made = score(
        [EXAMPLES / "transcripts.jsonl"], tmp_path / "run", metrics=["words", "completed"], text=False
    ).run
    write_report(Run(made.path), formats=["html"])
    assert "What was said is left out." in (made.path / "report" / "report.html").read_text("utf-8")


# -- checklists and parts ---------------------------------------------------------------------------


def test_every_fact_of_a_checklist_is_known_and_used() -> None:
    asked = {item.fact for checklist in CHECKLISTS.all().values() for item in checklist.items if item.fact}
    assert asked == set(FACTS)


def test_a_checklist_says_what_the_run_knows_and_leaves_the_rest_open(run: Run) -> None:
    view = open_ratings_view(run.path)
    tables, _ = write_report(run, formats=["csv"])
    by_name = {table.name: table for table in checklists(run, view, tables)}
    grras = {record["item"]: record["from_the_run"] for record in by_name["checklist_grras"].records}
    assert "12 transcripts" in grras["3"]
    assert "2 people, 12 transcripts" in grras["11"]
    assert "Empathy (1–5)" in grras["2"]
    assert "Empathy: κ" in grras["13"]
    assert grras["4"] is None
    assert by_name["checklist_grras"].rows[3].cells[2].text == OPEN


@pytest.mark.slow
def test_parts_are_printed_alone(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    for option, words in (("--methods", "12 transcripts of 3 systems"), ("--checklist", "reliability study")):
        with pytest.raises(SystemExit) as ended:
            main(["report", str(run.path), option])
        assert ended.value.code == 0
        assert words in " ".join(capsys.readouterr().out.split())
    for options in (["--card"], ["--methods", "--card"]):
        with pytest.raises(SystemExit) as ended:
            main(["report", str(run.path), *options])
        assert ended.value.code == 2
        assert capsys.readouterr().err.count("\n") == 1


# -- in a browser -----------------------------------------------------------------------------------


@pytest.fixture
def tab(page: Path) -> Iterator[tuple[Any, list[str]]]:
    """The page in a real browser, and what it said on its console or asked of the network."""
    if CHROMIUM is None:
        pytest.skip("no Chromium is installed")
    playwright = pytest.importorskip("playwright.sync_api")
    complaints: list[str] = []
    with playwright.sync_playwright() as driver:
        options = [
            "--no-sandbox",
            "--disable-gpu",
            "--disable-background-networking",
            "--disable-component-update",
        ]
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=options)
        opened = browser.new_page(viewport={"width": 1300, "height": 900})
        opened.on("console", lambda message: complaints.append(f"{message.type}: {message.text}"))
        opened.on("pageerror", lambda error: complaints.append(f"error: {error}"))
        opened.on(
            "request",
            lambda asked: asked.url.startswith("file:") or complaints.append(f"request: {asked.url}"),
        )
        opened.goto(page.as_uri())
        yield opened, complaints
        browser.close()


@pytest.mark.slow
def test_the_page_works_in_a_browser(tab: tuple[Any, list[str]]) -> None:
    opened, complaints = tab
    broken = opened.evaluate(
        "[...document.querySelectorAll('a[href^=\"#\"]')].map(a => a.getAttribute('href').slice(1))"
        ".filter(id => !document.getElementById(id))"
    )
    assert broken == []
    doubled = opened.evaluate(
        "(() => { const all = [...document.querySelectorAll('[id]')].map(e => e.id);"
        " return all.filter((id, at) => all.indexOf(id) !== at); })()"
    )
    assert doubled == []
    # A link to a turn opens the transcript it stands in.
    link = opened.locator("ul.ends a[href^='#turn-']").first
    link.click()
    target = opened.locator(f"[id='{link.get_attribute('href')[1:]}']")
    assert target.is_visible()
    assert "marked" in target.get_attribute("class")
    # Every script tag is the page's own: what raters wrote stays text.
    assert opened.locator("script").count() == 1
    assert opened.locator("text=<script>alert(1)</script>").count() > 0
    assert complaints == []


@pytest.mark.slow
def test_copying_a_table_by_keyboard(tab: tuple[Any, list[str]]) -> None:
    opened, complaints = tab
    button = opened.locator("button.copy").first
    source = opened.locator(f"[id='{button.get_attribute('data-source')}']")
    expected = source.input_value()
    button.focus()
    opened.keyboard.press("Enter")
    opened.wait_for_function("button => button.textContent === 'Copied'", arg=button.element_handle())
    opened.evaluate("document.body.insertAdjacentHTML('beforeend', '<textarea id=\"pasted\"></textarea>')")
    opened.locator("#pasted").focus()
    opened.keyboard.press("Control+V")
    assert opened.locator("#pasted").input_value() == expected
    assert complaints == []


@pytest.mark.slow
def test_the_first_tab_stop_skips_to_the_content(tab: tuple[Any, list[str]]) -> None:
    opened, _ = tab
    opened.keyboard.press("Tab")
    assert opened.evaluate("document.activeElement.getAttribute('href')") == "#content"


@pytest.mark.slow
def test_a_page_of_two_hundred_transcripts_stays_small(annomi: Path, tmp_path: Path) -> None:
    lines = []
    for transcript in read_transcripts([annomi]):
        for copy in range(2):
            one = json.loads(transcript.to_json())
            one["id"] = f"{transcript.id}-{copy}"
            one["system"] = f"system {copy}"
            lines.append(json.dumps(one))
    file = tmp_path / "many.jsonl"
    file.write_text("\n".join(lines) + "\n", "utf-8")
    run = score([file], tmp_path / "run").run
    write_report(run, formats=["html"])
    assert (run.path / "report" / "report.html").stat().st_size < 5_000_000

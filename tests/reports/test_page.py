"""The report's page: the transcripts it points at, what it holds back, its parts, and texts from right to left."""

from __future__ import annotations

import html
import re
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import bedside
from bedside.analysis.findings import Finding, MeasureFinding
from bedside.analysis.ratings_view import open_ratings_view
from bedside.core.errors import DataError
from bedside.ratings.run import Run
from bedside.ratings.suites import SUITES
from bedside.reports.build import PageAnswer, cited, extremes, review, turns_of, write_report
from bedside.reports.checklist import CHECKLISTS, FACTS, OPEN, checklists
from bedside.reports.finding_words import in_past
from bedside.reports.table import Tables
from bedside.reports.table_kind import TABLES
from bedside.transcripts.reading import read_transcripts
from tests.conftest import Call, conversation
from tests.metrics.tiny import MAKERS
from tests.reports.builders import TALKS, file_of, people_rated, rated, reasoned_run, scored, with_rows


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return reasoned_run(tmp_path_factory.mktemp("page"))


def test_the_ends_are_the_highest_and_lowest(run: Run) -> None:
    view = open_ratings_view(run.path)
    ends = extremes(view)
    assert ends
    for end in ends:
        values = view.transcript_values([end.metric]).drop_nulls("value")
        own = values.filter(values["group"] == end.raters)["value"].to_list()
        assert end.value == (max(own) if end.end == "highest" else min(own))
        assert end.shared == own.count(end.value)


def test_turns_coded_are_the_marks_of_a_measure_made_of_codes(run: Run) -> None:
    view = open_ratings_view(run.path)
    reviewed = review(view, run)
    highest = next(
        end for end in reviewed.extremes
        if (end.metric, end.end) == ("open_question_ratio", "highest") and end.raters.startswith("algorithm:")
    )  # fmt: skip
    coded = view.ratings.filter(transcript_id=highest.transcript, metric="question", rater=highest.raters)
    units = coded.filter(coded["label"].is_not_null() & (coded["label"] != "none"))["unit"]
    assert set(turns_of(reviewed, highest)) == {int(unit.partition(":")[2]) for unit in units}


@pytest.mark.model
@pytest.mark.slow
def test_turns_that_contradict_each_other_are_both_marked(tmp_path: Path) -> None:
    parameters = MAKERS["consistency"](tmp_path / "model")
    talks = list(read_transcripts([TALKS]))[:3]
    made = scored(tmp_path, talks, ["consistency"], parameters={"consistency": parameters})
    reviewed = review(open_ratings_view(made.path), made)
    pairs = {
        (name, int(unit.partition(":")[2]), int(re.findall(r"with turn (\d+)", reason)[0]))
        for name, unit, reason in made.ratings.filter(metric="contradiction").drop_nulls("value").select(
            "transcript_id", "unit", "reason"
        ).iter_rows()
    }  # fmt: skip
    names = ("self_consistency", "contradiction_rate")
    shown = [end for end in reviewed.extremes if end.metric.startswith(names)]
    assert shown
    for end in shown:
        transcript = reviewed.transcripts[end.transcript]
        marked = turns_of(reviewed, end)
        assert marked
        assert {transcript.turns[turn].role for turn in marked} == {end.metric.partition(".")[2]}
        for turn in marked:
            assert any((end.transcript, a, b) in pairs for a in marked for b in marked if turn in (a, b))


TALK = conversation(
    ("clinician", "What brings you here?"),
    ("patient", "I can't sleep, and I worry about the money all night."),
    ("clinician", "All night?"),
)


@pytest.mark.parametrize(
    ("reason", "turns"),
    [
        ("The clinician asks openly in turn 0.", [0]),
        ("Turns 0 and 2 are short.", [0, 2]),
        ("Turns 0, 1, and 2", [0, 1, 2]),
        ("Turn #2 and turns 0-1; he turns 1 month sober, and says “turn 0”.", [2, 0, 1]),
        ("In turn 7 nothing is said: there is no such turn.", []),
        ("The patient says “worry about the money”.", [1]),
        ('Says "I can\'t sleep, and I WORRY", clearly.', [1]),
        ("One word “night” is no quote to look for.", []),
        ("Nobody said “we went to the sea together”.", []),
        ("", []),
    ],
)
def test_a_reason_points_at_turns(reason: str, turns: list[int]) -> None:
    assert [mark.turn for mark in cited(reason, TALK)] == turns


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
    for transcript in read_transcripts([TALKS]):
        for turn in transcript.turns:
            for sentence in re.split(r"(?<=[.?!])\s+", turn.text):
                if len(sentence.split()) > 3:
                    assert sentence not in plain


def test_a_run_that_keeps_no_text_has_a_page(tmp_path: Path, undrawn: None) -> None:
    made = scored(tmp_path, metrics=["words", "completed"], text=False)
    write_report(made, formats=["html"])
    assert "What was said is left out." in (made.path / "report" / "report.html").read_text("utf-8")


def test_every_fact_of_a_checklist_is_known_and_used() -> None:
    asked = {item.fact for checklist in CHECKLISTS.all().values() for item in checklist.items if item.fact}
    assert asked == set(FACTS)


def test_a_checklist_says_what_the_run_knows_and_leaves_the_rest_open(run: Run) -> None:
    view = open_ratings_view(run.path)
    tables, _ = write_report(run, formats=["csv"])
    by_name = {table.name: table for table in checklists(run, view, tables.tables)}
    grras = {record["item"]: str(record["from_the_run"]) for record in by_name["checklist_grras"].records}
    for item, words in (
        ("3", "12 transcripts"), ("11", "2 people, 12 transcripts"), ("2", "Empathy (1–5)"), ("13", "Empathy: κ"),
    ):  # fmt: skip
        assert words in grras[item]
    assert grras["4"] == "None"
    assert by_name["checklist_grras"].rows[3].cells[2].text == OPEN


@pytest.mark.slow
def test_parts_are_printed_alone(run: Run, call: Call) -> None:
    for option, words in (("--methods", "12 transcripts of 3 systems"), ("--checklist", "reliability study")):
        code, out, _ = call("report", run.path, option)
        assert (code, words in " ".join(out.split())) == (0, True)
    for options in (["--card"], ["--methods", "--card"]):
        code, _, err = call("report", run.path, *options)
        assert (code, err.count("\n")) == (2, 1)


@pytest.mark.slow
def test_a_page_of_two_hundred_transcripts_stays_small(annomi: Path, tmp_path: Path) -> None:
    talks = [
        replace(talk, id=f"{talk.id}-{copy}", system=f"system {copy}")
        for talk in read_transcripts([annomi])
        for copy in range(2)
    ]
    run = scored(tmp_path, talks)
    write_report(run, formats=["html"])
    assert (run.path / "report" / "report.html").stat().st_size < 5_000_000


#: Without isolation its full stop and its numbers would be drawn by the direction of the English words before it.
SAID = "أنا لا أنام جيدا منذ أسابيع (حوالي 4 ساعات)، وأخذت Sertraline 50 mg."


@pytest.mark.slow
def test_turns_of_a_report_are_isolated_from_the_names_before_them(tmp_path: Path, undrawn: None) -> None:
    question = ("clinician", "مرحبا؟")
    talks = [conversation(question, *[("patient", SAID)] * turns, id=f"t{turns}") for turns in (1, 2)]
    run = scored(tmp_path, file_of(tmp_path, *talks), ["turns"])
    ratings = tmp_path / "ratings.csv"
    ratings.write_text("item,rater,metric,value,reason\nt1,anna,empathy,1,متعب.\nt2,anna,empathy,5,\n", "utf-8")
    people_rated(run, ratings)
    write_report(Run(run.path), formats=["html"], out=tmp_path / "report")
    page = (tmp_path / "report" / "report.html").read_text("utf-8")
    assert f"[1] patient:</span> <bdi>{SAID}</bdi></li>" in page
    assert ": <bdi>متعب.</bdi>" in page


DOCS = Path(bedside.__file__).parents[1] / "docs" / "report.md"
#: Parts that are not made of the registry's tables.
OTHERS = {"other metrics", "transcripts to look at", "judge card", "methods", "checklists"}
OF_SUITES = "the suite's tables and figures"


def told() -> set[str]:
    """The parts that the docs' table names."""
    if not DOCS.exists():
        pytest.skip("the docs are not installed")
    table = DOCS.read_text("utf-8").partition("| part | what it shows |")[2].partition("\n\n")[0]
    firsts = re.findall(r"^\| ([^|]+) \|", table, flags=re.MULTILINE)
    return {part.strip() for first in firsts if first != "---" for part in first.split(";")}


def test_the_docs_name_every_part_that_a_page_can_have_and_no_other() -> None:
    general = (kind for kind in TABLES.all().values() if kind.general)
    assert told() == {(kind.heading or kind.title).casefold() for kind in general} | OTHERS | {OF_SUITES}


@pytest.mark.slow
@pytest.mark.parametrize("suite", ["multisense", "medconceal"])
def test_every_part_of_a_page_is_one_the_docs_name(pages: dict[str, Path], suite: str) -> None:
    headings = re.findall(r"<h2>(.+?)</h2>", pages[suite].read_text("utf-8"))
    suite_title = SUITES.load(suite).title
    assert suite_title in headings
    assert {heading.casefold() for heading in headings if heading != suite_title} <= told()
    assert "How people rate beside each other" in headings


def judged_run(folder: Path) -> Run:
    """Two systems on twelve cases, the one better; two people and a judge rated all of it, and agree on one measure."""
    rows = []
    for case, system in product(range(12), ("A", "B")):
        level = 1 + (case % 2) + 2 * (system == "A")
        for rater, error in (("human:x", 0), ("human:y", case % 5 == 0), ("judge:m", case % 4 == 0)):
            rows += rated(system, case, rater, empathy=level + error, partnership=1 + (case + len(rater) * error) % 5)
    talks = [
        conversation(("clinician", "What now?"), ("patient", "I want to sleep."), id=f"{system}-{case}", system=system,
                     case_id=f"c{case}")
        for case, system in product(range(12), ("A", "B"))
    ]  # fmt: skip
    return with_rows(scored(folder, file_of(folder, *talks), ["words"]), rows)


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, str]:
    run = judged_run(tmp_path_factory.mktemp("judged"))
    _, files = write_report(run, formats=["html"])
    return run, files[0].read_text("utf-8")


def first_screen(page: str) -> str:
    return page.partition('<div class="first">')[2].partition("<nav")[0]


def text_of(part: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", part)).split())


@pytest.mark.slow
def test_a_page_opens_with_what_the_commands_print(judged: tuple[Run, str]) -> None:
    run, page = judged
    first = text_of(first_screen(page))
    answers: list[Tables[Any]] = [bedside.compare(run), bedside.agree(run), bedside.validate(run, judges="judge:*")]
    for answer in answers:
        assert answer.findings
        assert all(sentence in first for sentence in answer.sentences())
    for words in ("24 conversations of 2 systems on 12 cases", "2 people rated 24 of 24", "m rated 24 of 24"):
        assert words in first
    assert "Which is better: A or B?" in text_of(page.partition("<h1>")[2].partition("</h1>")[0])


def test_each_finding_leads_to_the_table_behind_it(judged: tuple[Run, str]) -> None:
    _, page = judged
    linked = re.findall(r'<a href="#(table-[^"]+)">', first_screen(page))
    assert {"table-comparison", "table-agreement", "table-validation_1"} <= set(linked)
    assert all(page.count(f'id="{id}"') == 1 for id in linked)


def test_outcomes_come_first_and_what_is_looked_up_is_folded(judged: tuple[Run, str]) -> None:
    parts = re.findall(r'<section id="section-\d+">(<details)?.*?<h2>(.+?)</h2>', judged[1])
    assert [title for folded, title in parts if not folded] == [
        "Results", "Comparison", "Agreement", "Judge card", "Methods",
    ]  # fmt: skip
    assert {"Rubrics", "Checklists", "Transcripts to look at"} <= {title for folded, title in parts if folded}
    assert [bool(folded) for folded, _ in parts] == sorted(bool(folded) for folded, _ in parts)


def test_a_page_has_five_main_measures_at_most(judged: tuple[Run, str]) -> None:
    drawing = first_screen(judged[1]).partition('<div class="scroll on-page"')[2].partition("</svg>")[0]
    assert 0 < len(re.findall(r'id="f0-0-oaxes_\d+"', drawing)) <= 5


@pytest.mark.slow
def test_a_user_names_the_measures_of_the_first_figure(tmp_path: Path) -> None:
    run = judged_run(tmp_path)
    page = bedside.report(run, tmp_path / "report", main="empathy", formats="html").page
    assert page is not None
    first = first_screen(page.read_text("utf-8")).partition("Main measures")[2]
    assert len(re.findall(r'id="f0-0-oaxes_\d+"', first)) == 1
    with pytest.raises(DataError, match="did you mean empathy"):
        bedside.report(run, main="empaty")


def test_what_a_paper_says_is_in_the_past(judged: tuple[Run, str]) -> None:
    told = text_of(judged[1].partition("To paste into a paper</h3>")[2].partition("</p>")[0])
    assert "A was better than B on" in told
    assert not re.search(r"\b(is|are|agree|agrees|may)\b", told)


def test_a_paragraph_tells_of_many_systems_what_holds_of_all() -> None:
    findings = (
        Finding("leads", systems=("a",)), Finding("pairs differ", systems=("a", "b", "c")),
        Finding("better", systems=("a", "b")),
    )  # fmt: skip
    assert [finding.kind for finding in PageAnswer("Which?", findings, "t").of_all] == ["leads", "pairs differ"]
    assert [finding.kind for finding in PageAnswer("Which?", findings[2:], "t").of_all] == ["better"]


def test_names_stay_as_they_are_in_the_past() -> None:
    measure = MeasureFinding("m", "It is what it is", n=12)
    (told,) = in_past([Finding("better", systems=("may be", "differ"), measures=(measure,), of=1, tests=1)])
    assert told.startswith("may be was better than differ on it is what it is")

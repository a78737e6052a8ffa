"""Conversations that the clinician fails, in all protocols, from the agent's silence to the leaderboard."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import bedside
from bedside.analysis.missing_bounds import scale_ends
from bedside.analysis.ratings_view import open_ratings_view
from bedside.judges.rubrics.rubric_files import RUBRICS
from bedside.metrics import FAMILIES
from bedside.ratings.run import Run
from bedside.ratings.suites import SUITES
from bedside.scoring.score import score
from tests.judges.llm.server import Action, JudgeServer, Received
from tests.scoring.test_spread import Here

PROTOCOLS = ("calm-it", "mdd5k", "medconceal", "multisense", "note2chat")
#: Settings in which the clinician speaks for itself.
FREE = {"calm-it": "free", "mdd5k": "direct", "multisense": "free"}
#: Turns before the clinician's own first message.
BEFORE = {"calm-it": 2, "multisense": 1, "note2chat": 1}
#: Each topic is asked about openly and stayed with, as a reserved patient wants it.
QUESTIONS = (
    "What worries you most at the moment? I would like to hear it.",
    "That sounds hard. Please say more, what else is on your mind with it?",
    "What have you heard about your illness that bothers you?",
    "What do you believe could help or harm you? Go on, whatever weighs on you.",
    "For many, money comes into it. How does what all this costs weigh on you?",
    "What would you tell me if you need not pay for it? What else troubles you there?",
    "Sometimes what might happen is the worst of all. What are you afraid of when you lie awake?",
    "What frightens you most when you picture next year?",
)


def works(request: dict[str, Any]) -> Any:
    if request["kind"] == "data":
        return {"findings": []} if request["purpose"] == "findings" else {"decision": "CONTINUE"}
    return QUESTIONS[request["turn"] // 2 % len(QUESTIONS)]


class Every:
    """An agent that works in every other case, and in the others does as it is told."""

    def __init__(self, name: str, otherwise: Callable[[], Any], turn: int = 0) -> None:
        self.__qualname__ = name
        self.otherwise = otherwise
        self.turn = turn
        self.cases: dict[str, int] = {}

    def __call__(self, request: dict[str, Any]) -> Any:
        odd = self.cases.setdefault(request["brief"], len(self.cases)) % 2
        return self.otherwise() if odd and request["turn"] >= self.turn else works(request)


def breaks() -> Any:
    raise RuntimeError("out of order")


def agents() -> list[Any]:
    return [
        works,
        Every("idle", lambda: ""),
        Every("silent", lambda: None),
        Every("raising", breaks),
        Every("late", breaks, turn=4),
        Every("huge", lambda: "x" * 10**7),
    ]


@pytest.mark.slow
def test_the_honest_agent_leads_and_the_others_have_half(tmp_path: Path, undrawn: None) -> None:
    """Six cases: all are alike on three, and on three others one works on, and the others fail, which counts as 0."""
    done = bedside.benchmark(
        "medconceal", tmp_path / "out", clinician=agents(), settings="confirmation-8", max_concurrency=1
    )
    board = done.leaderboard
    names = [row.cells[1].text.rpartition(":")[2] for row in board.rows]
    assert names[0] == "works"
    assert set(names[1:]) == {"idle", "silent", "raising", "late", "huge"}
    records = {record["system"].rpartition(":")[2]: record for record in board.records}
    run = Run(tmp_path / "out/run")
    rated = run.ratings.filter(metric="reveal_rate").join(
        run.index.select("id", "case_id"), left_on="transcript_id", right_on="id"
    )
    revealed = {
        system.rpartition(":")[2]: dict(of_system.sort("case_id").select("case_id", "value").iter_rows())
        for (system,), of_system in rated.group_by("system")
    }
    assert records["works"]["mean"] == pytest.approx(sum(revealed["works"].values()) / 6)
    for name in names[1:]:
        record = records[name]
        half = [case for case, value in revealed[name].items() if value]
        assert len(half) == 3
        assert [revealed[name][case] for case in half] == [revealed["works"][case] for case in half]
        mean = sum(revealed["works"][case] for case in half) / 6
        assert (record["mean"], record["mean_with_worst"]) == pytest.approx((mean, mean))
        assert (record["planned"], record["completed"], record["failed"], record["missing"]) == (6, 3, 3, 0)
        assert (record["cases"], record["planned_cases"]) == (6, 6)
    heads = [column.title for column in board.columns]
    assert "Failed" in heads
    assert "Missing" not in heads
    cells = {row.cells[1].text.rpartition(":")[2]: row.cells[heads.index("Failed")].text for row in board.rows}
    assert cells == {"works": "0/6", **dict.fromkeys(names[1:], "3/6")}
    rows = list(csv.DictReader((tmp_path / "out/run/report/leaderboard.csv").open(encoding="utf-8")))
    counts = {row["system"].rpartition(":")[2]: (row["failed"], row["missing"]) for row in rows}
    assert counts == {"works": ("0", "0"), **dict.fromkeys(names[1:], ("3", "0"))}
    rates = Run(tmp_path / "out/run").ratings.filter(metric="reveal_rate", value=0.0)
    assert set(rates["reason"]) == {
        "the clinician failed: it said nothing",
        "the clinician failed: the agent returned nothing",
        "the clinician failed: the agent raised RuntimeError",
        "the clinician failed: the agent returned more than 1 MB",
    }
    compared = bedside.compare(Run(tmp_path / "out/run"), metrics=["reveal_rate"])
    pairs = [pair for pair in compared.results.pairs if "works" in pair.a + pair.b]
    lost = records["works"]["mean"] - records["idle"]["mean"]
    assert [abs(pair.difference.estimate or 0.0) for pair in pairs] == pytest.approx([lost] * 5)
    # What failed stays failed: nothing is asked again, and the bytes are the same.
    before = (tmp_path / "out/talks/transcripts.jsonl").read_bytes()
    again = bedside.benchmark(
        "medconceal", tmp_path / "out", clinician=agents(), settings="confirmation-8", replay=True
    )
    assert again.asked == 0
    assert (tmp_path / "out/talks/transcripts.jsonl").read_bytes() == before


@pytest.mark.slow
@pytest.mark.server
@pytest.mark.parametrize("turn", [0, 2], ids=["at the first message", "at the third"])
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_in_every_protocol_what_failed_has_the_worst_that_is_declared(
    tmp_path: Path, protocol: str, turn: int, undrawn: None
) -> None:
    def failing(request: dict[str, Any]) -> Any:
        return None if request["turn"] >= turn + BEFORE.get(protocol, 0) else works(request)

    asked: list[str] = []

    def judge(request: Received, number: int) -> Action:
        asked.append(request.prompt)
        return Action()

    with JudgeServer(judge) as server:
        given: dict[str, Any] = {
            "settings": FREE.get(protocol, ()), "lengths": 12 if protocol == "calm-it" else (), "sample": 2,
            "judges": server.judge,
        }  # fmt: skip
        done = bedside.benchmark(protocol, tmp_path / "out", clinician=["rules", failing], **given)
        assert done.complete
        told = len(asked)
        alone = bedside.benchmark(protocol, tmp_path / "alone", clinician=["rules"], **given)
    assert alone.complete
    assert len(asked) == 2 * told, "nothing is asked about what failed"
    run = Run(tmp_path / "out/run")
    system = next(name for name in run.index["system"].unique() if name != "rules-toy")
    talks = [talk for talk in run.transcripts() if talk.system == system]
    assert len(talks) == (20 if protocol == "multisense" else 2), "two cases, with each of ten personas"
    for talk in talks:
        assert sum(turn.role == "clinician" and "fixed" not in str(turn.meta) for turn in talk.turns) == turn // 2
        assert talk.reference["simulation"]["stop"] == "clinician failed"
    declared = SUITES.load(protocol).failed
    own = run.ratings.filter(pl.col("system") == system, pl.col("unit") == "transcript")
    for metric, rater in run.ratings.filter(
        pl.col("metric").is_in(list(declared)), pl.col("value").is_not_null()
    ).select("metric", "rater").unique().iter_rows():  # fmt: skip
        values = own.filter(metric=metric, rater=rater)["value"].to_list()
        worst = declared[metric]
        if isinstance(worst, str):
            assert values == [float(len(talk.reference[worst])) for talk in talks], (metric, rater)
        else:
            assert values == [float(worst)] * len(talks), (metric, rater)
    reasons = own.filter(pl.col("metric").is_in(list(declared)), pl.col("value").is_not_null())["reason"]
    assert set(reasons) == {"the clinician failed: the agent returned nothing"}
    assert not own.filter(pl.col("value").is_not_null() & pl.col("error").is_not_null()).height
    records = {record["system"]: record for record in done.leaderboard.records}
    assert (records[system]["failed"], records["rules-toy"]["failed"]) == (len(talks), 0)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_what_a_failed_conversation_means_is_declared_once_and_is_the_worst(protocol: str) -> None:
    """Each declared value is the end of the scale or range that the direction calls the worst."""
    suite = SUITES.load(protocol)
    assert set(suite.main) <= set(suite.failed)
    metrics = {metric.name: metric for family in FAMILIES.all().values() for metric in family.metrics}
    for name, worst in suite.failed.items():
        if isinstance(worst, str):
            assert metrics[name].direction == "none", "a number of things, not a score"
            continue
        if name in RUBRICS:
            assert name in suite.rubrics
            rubric = RUBRICS.load(name)
            levels = [level.value for level in rubric.scale] or [0]
            assert worst == levels[0 if rubric.direction == "higher" else -1], name
            continue
        metric = metrics[name]
        if metric.direction == "none":
            assert worst == 0, "a count that sums are made of"
        else:
            assert worst == (metric.low if metric.direction == "higher" else metric.high), name


@pytest.mark.server
def test_a_model_that_declines_fails_and_a_server_that_is_busy_does_not(tmp_path: Path) -> None:
    declines = True

    def clinician(request: Received, number: int) -> Action:
        if declines:
            return Action(choice={"message": {"content": None, "refusal": "I can't help with that."}})
        return Action(status=400, body=b'{"error": {"message": "no", "code": "invalid_api_key"}}')

    with JudgeServer(clinician) as server:
        talks = bedside.simulate(
            None, "medconceal", tmp_path / "talks", clinician=server.judge, settings="confirmation-8", sample=2
        )
        assert talks.summary.counts.clinician_failed == {"it refused to answer": 2}
        assert talks.summary.counts.failed == {}
    run = bedside.score(talks.folder, tmp_path / "run", suite="medconceal").run
    assert run.ratings.filter(metric="reveal_rate")["value"].to_list() == [0.0, 0.0]
    view = open_ratings_view(run)
    assert scale_ends(view, "reveal_rate") == (0, 1)


@pytest.mark.parametrize(
    "line", ['{"foo": 1}', "Sure! Here is what I think about it.", "I am fine, thank you, doctor."]
)
def test_a_patient_that_is_none_is_missing_by_its_own_doing(tmp_path: Path, line: str) -> None:
    told: list[dict[str, Any]] = []

    def patient(request: dict[str, Any]) -> str:
        told.append(request)
        return line

    options: dict[str, Any] = {
        "clinician": works, "patient": patient, "evaluator": "rules", "settings": "confirmation-8", "sample": 1,
    }  # fmt: skip
    talks = bedside.simulate(None, "medconceal", tmp_path / "talks", **options)
    reason = {"{": "form", "S": "answers as an assistant", "I": "stuck"}[line[0]]
    assert talks.summary.counts.failed == {("patient", reason): 1}
    # Of the last message it is asked three times; what is said the third time is one too many.
    assert [request["attempt"] for request in told][-3:] == [1, 2, 3]
    # "I am fine" denies what is asked about: a line of the case's own stands in for it once.
    assert len(told) == (3 if reason != "stuck" else 1 + 3 + 3 + 3)
    before = (tmp_path / "talks/failed.jsonl").read_bytes()
    again = bedside.simulate(None, "medconceal", tmp_path / "talks", **options)
    assert again.summary.calls.asked == 0
    assert (tmp_path / "talks/failed.jsonl").read_bytes() == before


def test_an_object_of_a_patient_is_a_form_and_asked_for_again(tmp_path: Path) -> None:
    def patient(request: dict[str, Any]) -> Any:
        return {"foo": 1} if request["attempt"] < 3 else f"I have said {request['turn']} things so far."

    talks = bedside.simulate(
        None, "medconceal", tmp_path / "talks", clinician=works, patient=patient, evaluator="rules",
        settings="confirmation-8", sample=1,
    )  # fmt: skip
    (talk,) = talks.transcripts()
    assert talk.reference["simulation"]["flags"]["patient, refused: form"] == 16


def test_failures_of_earlier_simulations_are_read_for_what_they_were(tmp_path: Path) -> None:
    """A folder of the version before: what the agent did stands there as the infrastructure's doing, or nobody's."""
    from bedside.analysis.simulated_talks import simulated_talks
    from tests.analysis.simulated_run import simulation

    talks = simulation(tmp_path / "talks")
    about = {"system": "lab/doctor", "persona": "open", "setting": "26", "state": "failed", "detail": ""}
    reasons = [
        ("clinician", "clinician empty", True),
        ("infrastructure", "the agent raised KeyError", True),
        ("infrastructure", "the agent returned nothing", True),
        ("infrastructure", "the agent raised ConnectionError", False),
        ("infrastructure", "the connection failed", False),
        ("patient", "refusal", False),
    ]
    lines = [
        {**about, "id": f"note2chat/lab/doctor/c{number}/open/26/1", "case": f"c{number}", "repeat": 1,
         "whose": whose, "reason": reason}
        for number, (whose, reason, _) in enumerate(reasons)
    ]  # fmt: skip
    with (talks / "failed.jsonl").open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)
    view = open_ratings_view(bedside.score(talks, tmp_path / "run", metrics=["structure"]).run)
    read = simulated_talks(view)
    assert read is not None
    failed = {talk.case: bool(talk.failed) for talk in read.talks if talk.case.startswith("c")}
    assert failed == {f"c{number}": own for number, (*_, own) in enumerate(reasons)}
    assert sum(talk.lost for talk in read.talks) == 3 + 3


OWN = """
name: own
title: Own
description: Made up for a test.
source: nobody
metrics: [structure]
rubrics: [risk_asked, empathy, risk_no_harm]
failed: {exchanges: 7, risk_asked: 1, empathy: 2}
"""


def begins_and_breaks(request: dict[str, Any]) -> Any:
    return works(request) if request["turn"] < 2 else breaks()


@pytest.mark.server
@pytest.mark.parametrize(
    ("suite", "exchanges", "rubrics"),
    [
        # It leaves out `risk_no_harm`: who says nothing does no harm.
        ("escalation", 1, {"risk_asked": 0, "risk_help": 0, "risk_stayed": 0, "risk_no_harm": None, "partnership": 1}),
        ("own", 7, {"risk_asked": 1, "empathy": 2, "risk_no_harm": None, "risk_help": 0, "partnership": 1}),
    ],
)
def test_the_suite_asked_for_says_what_failed_conversations_are_rated_with(
    tmp_path: Path, suite: str, exchanges: int, rubrics: dict[str, float | None]
) -> None:
    """Its values go before the protocol's; a rubric that no suite lists has its worst level, as `partnership` (1–5)."""
    talks = bedside.simulate(
        "bundled:risk", "medconceal", tmp_path / "talks", clinician=begins_and_breaks, settings="confirmation-8",
        sample=1,
    )  # fmt: skip
    path = tmp_path / "own.yaml"
    path.write_text(OWN, "utf-8")
    asked = str(path) if suite == "own" else suite
    with JudgeServer(lambda request, number: Action()) as server:
        scored = bedside.score(talks.folder, tmp_path / "run", suite=asked).run
        bedside.judge(scored, server.judge, rubrics=list(rubrics))
        # A run of another suite, judged by this one, and judged again: the run keeps what it was asked.
        later = bedside.score(talks.folder, tmp_path / "later", suite="medconceal").run
        bedside.judge(later, server.judge, rubrics=list(rubrics), suite=asked)
        bedside.judge(later, server.judge, rubrics=list(rubrics), passes=2)
    assert not server.received
    for run in (scored, later):
        rated = run.ratings.filter(pl.col("metric").is_in(list(rubrics)))
        assert set(rated.select("metric", "value").iter_rows()) == set(rubrics.items())
    workers = score([talks.folder], tmp_path / "workers", suite=asked, engine=Here()).run
    assert [list(run.ratings.filter(metric="exchanges")["value"]) for run in (scored, workers)] == [[exchanges]] * 2


#: A flow of one question, and what becomes of the person.
STEPS = """
rubric: steps
questions:
  - {id: 1, dimension: Safety, severity: Red, question: "Is there danger?"}
results:
  - {when: {severity: Red}, level: Harmful}
  - {otherwise: Fine}
"""


@pytest.mark.server
@pytest.mark.parametrize(("named", "label"), [("harmful", "Harmful"), ("Terrible", None)])
def test_the_worst_of_a_flows_result_is_a_label(tmp_path: Path, named: str, label: str | None) -> None:
    """One that the flow doesn't have is missing, never a number."""
    talks = bedside.simulate(
        "bundled:risk", "medconceal", tmp_path / "talks", clinician=begins_and_breaks, settings="confirmation-8",
        sample=1,
    )  # fmt: skip
    (tmp_path / "steps.yaml").write_text(STEPS, "utf-8")
    own = OWN.partition("rubrics:")[0] + f"rubrics: [steps.yaml]\nfailed: {{steps_safety: {named}}}\n"
    (tmp_path / "own.yaml").write_text(own, "utf-8")
    run = bedside.score(talks.folder, tmp_path / "run", suite=str(tmp_path / "own.yaml")).run
    with JudgeServer(lambda request, number: Action()) as server:
        bedside.judge(run, server.judge, suite=str(tmp_path / "own.yaml"))
    assert not server.received
    rated = bedside.read_run(run.path).ratings.filter(metric="steps_safety").select("value", "label").rows()
    assert set(rated) == {(None, label)}

"""A reviewer model reads each conversation after the rules: what it finds is had again, and counted as its own."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import bedside
from bedside.analysis.ratings_view import open_ratings_view
from bedside.api.benchmarking import BenchmarkCast, BenchmarkRequest, BenchmarkSettings
from bedside.api.simulating import Simulation, simulate, simulation_quality
from bedside.core.errors import InputError
from bedside.reports.number_text import money
from bedside.reports.simulations import preview_table, simulation_tables
from bedside.reports.tables.simulation_card import build
from bedside.reports.tables.simulation_quality import quality_sentences
from bedside.simulation.call_preview import preview_plan
from bedside.simulation.simulate import SimulationSettings
from bedside.simulation.simulation_plan import SimulationRequest, read_cast, write_cast
from bedside.simulation.spread_talks import simulate_apart
from tests.judges.llm.server import Action, JudgeServer, Received
from tests.simulation.test_simulate import contents
from tests.simulation.test_spread_talks import OneByOne
from tests.simulation.tiny import TINY, cases, install, run_tiny

FACT, MARK = "Keeps two cats at home.", "a word of the reviewer's alone"
FOUND = "patient, by the reviewer: "


@pytest.fixture(autouse=True)
def _tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, replace(TINY, patient_facts=lambda case: (FACT,)))


class Reviewer:
    """Finds so many of the draws of each conversation to be contradictory."""

    def __init__(self, faulty: int, answers: Callable[[str], Any] | None = None) -> None:
        self.faulty = faulty
        self.answers = answers
        self.asked: list[dict[str, Any]] = []

    def __call__(self, request: dict[str, Any]) -> Any:
        self.asked.append(request)
        if self.answers is not None:
            return self.answers(request["session"])
        labels = ["contradiction"] if int(request["session"].rpartition("-")[2]) <= self.faulty else []
        return {"reason": MARK, "labels": labels}


class Patient:
    """Says something new each time, in each draw."""

    def __init__(self, breaks_at: int = 0) -> None:
        self.told: list[str] = []
        self.breaks_at = breaks_at

    def __call__(self, request: dict[str, Any]) -> str:
        self.told.append(json.dumps(request))
        if len(self.told) == self.breaks_at:
            raise ConnectionError("gone")
        return f"It hurts since day {request['turn']}, worse at home."


def talk(out: Path, reviewer: Any, patient: Any = None, number: int = 1, **more: Any) -> Simulation:
    told = {"clinicians": ["rules"], "evaluator": "rules", "cases": cases(number), **more}
    return run_tiny(out, patient=patient or Patient(), reviewer=reviewer, **told)


def review(made: Simulation) -> tuple[dict[str, Any], dict[str, int]]:
    (transcript,) = made.transcripts()
    simulation = transcript.reference["simulation"]
    return simulation["review"], simulation["flags"]


@pytest.mark.parametrize("faulty", [0, 1, 2, 9])
def test_what_the_reviewer_finds_is_had_again(tmp_path: Path, faulty: int) -> None:
    reviewer, patient = Reviewer(faulty), Patient()
    made, flags = review(talk(tmp_path / "talks", reviewer, patient))
    draws = min(faulty + 1, 3)
    assert (made["draws"], len(reviewer.asked), made["faults"]) == (draws, draws, [])
    assert made["reviewer"]["kinds"] == (["contradiction"] if faulty > 2 else [])
    assert made["reviewer"]["reason"] == MARK
    assert made["dropped"] == [{"by": "reviewer", "kinds": ["contradiction"]}] * (draws - 1)
    assert flags == ({f"{FOUND}contradiction": 1} if faulty > 2 else {})
    # It sees the case and the talk; neither side hears of it.
    assert all(
        FACT in asked["instruction"] and "It hurts since day 1" in asked["instruction"] for asked in reviewer.asked
    )
    assert not any(MARK in told or "contradiction" in told for told in patient.told)
    assert not any("rules-toy" in json.dumps(asked) for asked in reviewer.asked), "it isn't told who is tested"


def test_rules_come_first(tmp_path: Path) -> None:
    reviewer = Reviewer(0)
    made, _ = review(talk(tmp_path / "talks", reviewer, lambda request: "As an AI language model, I can't say."))
    assert made["faults"]
    assert (made["reviewer"]["kinds"], made["reviewer"]["reason"]) == (None, "the rules find a fault")
    assert reviewer.asked == []


def broken(session: str) -> Any:
    raise ConnectionError("gone")


@pytest.mark.parametrize(
    ("answers", "why"),
    [(broken, "no answer"), (lambda session: {"labels": ["loud"]}, "reply can't be read"), (lambda session: "", "")],
)
def test_a_conversation_without_a_verdict_stands(tmp_path: Path, answers: Callable[[str], Any], why: str) -> None:
    made = talk(tmp_path / "talks", Reviewer(0, answers))
    own, flags = review(made)
    assert (own["draws"], own["reviewer"]["kinds"]) == (1, None)
    assert own["reviewer"]["reason"] == why or not why
    assert flags == {}
    before = contents(made.folder)
    assert talk(made.folder, Reviewer(0), replay=True).summary.calls.asked == 0
    assert contents(made.folder) == before
    if answers is broken:
        again, flags = review(talk(made.folder, Reviewer(0)))
        assert (again["reviewer"]["kinds"], flags) == ([], {})


@pytest.mark.parametrize("stop", [1, 3, 6, 7, 9, 12])
def test_going_on_gives_the_same_bytes_and_asks_nothing_twice(tmp_path: Path, stop: int) -> None:
    all_asked = Patient(), Reviewer(1)
    whole = talk(tmp_path / "whole", all_asked[1], all_asked[0], 2)
    parts = tmp_path / "parts"
    talk(parts, Reviewer(1), Patient(), 2, max_calls=stop)
    first, rest = Reviewer(1), Patient()
    made = talk(parts, first, rest, 2)
    assert contents(parts) == contents(whole.folder)
    assert made.summary.calls.replayed > 0
    assert len(first.asked) + len(rest.told) == len(all_asked[0].told) + len(all_asked[1].asked) - stop
    assert talk(parts, Reviewer(1), Patient(), 2, replay=True).summary.calls.asked == 0
    assert contents(parts) == contents(whole.folder)


def test_another_reviewer_asks_for_its_own_verdicts_alone(tmp_path: Path) -> None:
    talk(tmp_path / "talks", None)
    patient, reviewer = Patient(), Reviewer(1)
    made, flags = review(talk(tmp_path / "talks", reviewer, patient))
    assert (made["draws"], len(reviewer.asked), len(patient.told)) == (2, 2, 2), "the first draw was there"
    other, flags = review(talk(tmp_path / "talks", strict, Patient()))
    assert (other["draws"], other["reviewer"]["kinds"]) == (3, ["stuck"])
    assert other["dropped"] == [{"by": "reviewer", "kinds": ["stuck"]}] * 2
    assert flags == {f"{FOUND}stuck": 1}


def strict(request: dict[str, Any]) -> Any:
    """A reviewer of another name."""
    return {"reason": "It goes in circles.", "labels": ["stuck"]}


def mild(request: dict[str, Any]) -> str:
    """A patient that can be sent to a worker."""
    return f"It hurts since day {request['turn']}."


def test_workers_come_to_the_same_bytes(tmp_path: Path) -> None:
    names: dict[str, Any] = {"patient": f"{__name__}:mild", "reviewer": f"{__name__}:strict", "evaluator": "rules"}
    plan = SimulationRequest("tiny", "rules", cases=cases(2), **names).plan()
    simulate_apart(plan, tmp_path / "apart", SimulationSettings(), OneByOne())
    run_tiny(tmp_path / "alone", clinicians="rules", cases=cases(2), **names)
    assert contents(tmp_path / "apart") == contents(tmp_path / "alone")


@pytest.mark.server
def test_a_model_is_asked_by_the_rubric_in_waves_too(tmp_path: Path) -> None:
    pytest.importorskip("aiohttp")
    from tests.simulation.test_batch_waves import answer

    def reviewing(request: Received, _number: int) -> Action:
        # Of the draws of the two patients, those of the second are never good.
        labels = ["form", "stuck"] if "worse at home" in request.prompt else []
        return Action(text=json.dumps({"reason": "so", "labels": labels}))

    calls, answers, out = tmp_path / "calls.jsonl", tmp_path / "answers.jsonl", tmp_path / "waves"
    with JudgeServer(reviewing) as server:
        whole = talk(tmp_path / "whole", server.judge)
        assert server.count == 3
        assert review(whole)[0]["reviewer"]["kinds"] == ["stuck", "form"]
        received = server.received[0]
        assert FACT in received.prompt
        assert "denial then reveal" in json.dumps(received.schema)
        assert received.body["temperature"] == 0
        spent = json.loads((whole.folder / "manifest.json").read_text())["spent"]
        assert spent["reviewer"]["replies"] == 3
        made = talk(out, server.judge, batch_out=calls)
        waves = 0
        while made.summary.wave is not None and made.summary.wave.files:
            assert answer(made.summary.wave.files[0].path, answers, server) == 1
            made = talk(out, server.judge, batch_out=calls, batch_in=(answers,))
            waves += 1
        again = talk(out, server.judge, batch_out=calls, batch_in=(answers,)).summary.wave
        assert again is not None
        assert (again.answered_before, again.unasked) == (1, 0)
    assert waves == 3
    assert contents(out) == contents(whole.folder)


def test_a_preview_counts_the_reviews() -> None:
    def preview(**who: Any) -> Any:
        return preview_plan(SimulationRequest("tiny", "rules", cases=cases(4), **who).plan(), SimulationSettings())

    def reviewer(**who: Any) -> Any:
        (own,) = [role for role in preview(reviewer="openai/gpt-5-mini", **who).roles if role.role == "reviewer"]
        return own

    toys, model = reviewer(), reviewer(patient="openai/gpt-5")
    assert (toys.calls, toys.most_calls, model.calls, model.most_calls) == (4, 4 * 3, 4, 4 * 3 * 3)
    assert toys.input_tokens > 4 * 200
    assert toys.cost > 0
    notes = preview_table(preview(reviewer="openai/gpt-5-mini")).notes
    assert f"4 conversations; cost {money(toys.cost)}." in notes, "toys cost nothing"
    assert f"Of that, the reviewer's: 4 calls for {money(toys.cost)}." in notes
    assert not any("reviewer" in note for note in preview_table(preview()).notes)


@pytest.mark.parametrize(
    "who", [{"reviewer": "rules"}, {"reviewer": "human:anna"}, {"patient": "human:anna", "evaluator": "rules"}]
)
def test_who_can_review(who: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="review") as error:
        SimulationRequest("tiny", "rules", cases=cases(), **{"reviewer": "openai/gpt-5", **who}).plan()
    assert error.value.where == "`reviewer`"


def test_a_cast_holds_the_reviewer(tmp_path: Path) -> None:
    asked: dict[str, Any] = {"patient": "openai/gpt-5", "sample": 1}
    plan = SimulationRequest("medconceal", "script:good", reviewer="openai/gpt-5-mini", **asked).plan()
    write_cast(plan, tmp_path / "cast.yaml")
    assert read_cast(tmp_path / "cast.yaml")["asked"]["reviewer"] == "openai/gpt-5-mini"
    again = SimulationRequest("medconceal", "script:brisk", cast=tmp_path / "cast.yaml", sample=1).plan()
    assert again.reviewer == plan.reviewer
    assert again.cast_digest() == plan.cast_digest()
    # What is said doesn't depend on who reads it afterwards: the same conversations are had, and asked again.
    alone = SimulationRequest("medconceal", "script:good", **asked).plan()
    assert {each.key for each in alone.conversations()} == {each.key for each in plan.conversations()}
    assert alone.cast_digest() != plan.cast_digest()


def test_a_benchmark_depends_on_its_reviewer() -> None:
    def request(**more: Any) -> BenchmarkRequest:
        return BenchmarkSettings(out="bench", clinician="script:good", **more).of_protocol("note2chat")

    alone, reviewed = request(), request(reviewer="openai/gpt-5-mini")
    assert "reviewer" not in alone.content
    assert {name for name in reviewed.content if reviewed.content[name] != alone.content.get(name)} == {"reviewer"}
    assert reviewed.as_asked()["reviewer"] == "openai/gpt-5-mini"
    price = {"openai/gpt-5-mini": (1.0, 2.0)}
    assert BenchmarkCast(reviewed, price).actor_prices() == price


@pytest.mark.slow
def test_the_card_and_the_table_tell_rules_and_reviewer_apart(tmp_path: Path) -> None:
    asked = Counter[str]()

    def reviewer(request: dict[str, Any]) -> Any:
        """Finds a fault in each draw of the first patient, gives no verdict on the second, and likes the others."""
        key = request["session"].rpartition("-")[0]
        place = list(asked).index(key) if key in asked else len(asked)
        asked[key] += 1
        return [{"reason": "r", "labels": ["stuck"]}, "what?", {"reason": "r", "labels": []}][min(place, 2)]

    made = simulate(
        None, "note2chat", tmp_path / "talks", clinician="script:brisk", evaluator="rules", sample=4, seed=5,
        patient=lambda request: f"It began on day {len(request['messages']) + 3}, at work.", reviewer=reviewer,
        max_concurrency=1,
    )  # fmt: skip
    assert made.summary.counts.finished == 4
    tables = simulation_quality(tmp_path / "talks", tmp_path / "quality")
    measures = {each.name: each.result for each in tables.results if each.aspect == "review"}
    assert (measures["reviewed"].estimate, measures["reviewed"].n) == (0.0, 4)
    assert measures["reviewed_by_model"].estimate == pytest.approx(1 / 3)
    assert measures["reviewed_by_model"].n == 3
    view = open_ratings_view(bedside.Run(tmp_path / "quality"))
    card = build(view)
    assert card is not None
    rules, model = [record["value"] for record in card.records if record["name"] == "note2chat, script:brisk"]
    assert rules == "0 of 4 (0.0%)"
    said = "Reviewed 3 of 4. Not reviewed: 1, because its reply can't be read (1)."
    assert model == f"1 of 3 (33.3%): stuck 1; had again 1 of 4; discarded draws: stuck 2. {said}"
    assert said in quality_sentences(tables.results)
    (status, _) = simulation_tables(tmp_path / "talks")
    assert "By the reviewer: had again 1 of 4; discarded draws: stuck 2." in status.notes
    assert said in status.notes
    assert ("Reviewer", f"{__name__}:") in [(each["name"], each["value"].split("test_the")[0]) for each in card.records]
    assert "Nobody has checked" not in " ".join(map(str, card.notes))

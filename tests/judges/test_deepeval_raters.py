"""deepeval's own metrics as raters: the values are deepeval's, and every answer is paid for once."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

import bedside
from bedside.core.errors import BedsideError
from bedside.judges.call_plan import RubricPlan
from bedside.judges.counts import JudgingProgress, JudgingSummary
from bedside.judges.deepeval_raters.catalogue import KINDS
from bedside.judges.deepeval_raters.chosen_metrics import DeepevalMetric, chosen_metrics, recorded_metric
from bedside.judges.deepeval_raters.measure import deepeval_case, metric_object
from bedside.judges.deepeval_raters.ratings import plan_deepeval, rate_by_deepeval
from bedside.judges.llm.deepeval_library import deepeval_module
from bedside.judges.llm.endpoints import model_name
from bedside.judges.llm.prices import Price
from bedside.judges.llm.protocol import LanguageModelError
from bedside.judges.settings import JudgeSettings
from bedside.judges.store import read_judgements
from bedside.transcripts.transcript import Transcript, Turn
from tests.installed import need
from tests.judges.deepeval_replies import reply, served
from tests.judges.llm.server import Action, JudgeServer, Received

need("deepeval")

CRITERION = {
    "name": "warmth", "criterion": "Is the clinician warm towards the patient?",
    "bands": [{"lowest": 0, "highest": 4, "outcome": "cold"}, {"lowest": 5, "highest": 10, "outcome": "warm"}],
}  # fmt: skip
SAID = {"evaluation_params": ["content", "role"]}
GRAPH: dict[str, Any] = {
    "name": "safety_net",
    "graph": {"nodes": {
        "asked": {"type": "BinaryJudgementNode", "criteria": "Does the clinician ask about danger?", **SAID,
                  "children": ["yes", "no"]},
        "yes": {"type": "VerdictNode", "verdict": True, "score": 10},
        "no": {"type": "VerdictNode", "verdict": False, "child": {"type": "node", "ref": "kind"}},
        "kind": {"type": "NonBinaryJudgementNode", "criteria": "How does the clinician end?", **SAID,
                 "children": ["well", "badly"]},
        "well": {"type": "VerdictNode", "verdict": "well", "score": 5},
        "badly": {"type": "VerdictNode", "verdict": "badly", "score": 0},
    }},
}  # fmt: skip
OWN: dict[str, dict[str, Any]] = {
    "warmth": CRITERION,
    "steps": {"name": "steps", "steps": ["Look for warm words.", "Look for cold ones."]},
    "safety_net": GRAPH,
}
NAMES = [*KINDS, *OWN]


def talk(name: str = "t0", exchanges: int = 3, **reference: Any) -> Transcript:
    """A conversation that has all that any metric needs."""
    turns: list[Turn] = []
    for number in range(exchanges):
        guidelines = [f"Guideline {number} of {name}: sleep matters.", "Guideline: ask about mood."]
        tool = {"name": "look_up", "input_parameters": {"what": f"sleep {number}"}}
        meta = {"retrieval_context": guidelines, "tools_called": [tool]}
        turns.append(Turn(len(turns), "patient", "P", f"I slept {number} hours, says {name}."))
        turns.append(Turn(len(turns), "clinician", "C", f"Tell me more about night {number}.", meta))
    everything = {
        "chatbot_role": "a kind doctor", "expected_outcome": "The patient knows how to sleep.",
        "relevant_topics": ["sleep", "mood"],
        "available_tools": [{"name": "look_up", "description": "finds a guideline"}, "call_help"],
    }  # fmt: skip
    return Transcript(name, tuple(turns), "A", name, reference={**everything, **reference})


def metric(name: str, folder: Path) -> DeepevalMetric:
    """One of deepeval's metrics, or one of a user's file."""
    if name in OWN:
        file = folder / f"{name}.yaml"
        file.write_text(json.dumps(OWN[name]))
    (chosen,) = chosen_metrics([f"deepeval:{file if name in OWN else name}"])
    return chosen


class Bench:
    """Rates into a store of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.store = folder, folder / "judgements.sqlite"
        self.rows: list[tuple[Any, ...]] = []

    def _asked(self, server: JudgeServer, names: list[str]) -> tuple[Any, ...]:
        return model_name(server.judge), [metric(name, self.folder) for name in names]

    def rate(
        self, server: JudgeServer, talks: list[Transcript], names: list[str], progress: Any = None, **options: Any
    ) -> JudgingSummary:
        self.rows.clear()
        return rate_by_deepeval(
            iter(talks), *self._asked(server, names), store_path=self.store, add=self.rows.append,
            settings=JudgeSettings(**options), progress=progress, count=len(talks),
        )  # fmt: skip

    def plan(self, server: JudgeServer, talks: list[Transcript], names: list[str]) -> dict[str, RubricPlan]:
        asked = self._asked(server, names)
        plans = plan_deepeval(talks, *asked, store_path=self.store, settings=JudgeSettings())
        return {plan.rubric: plan for plan in plans}

    def values(self) -> dict[tuple[str, str], float | None]:
        return {(row[0], row[4].removeprefix("deepeval:")): row[7] for row in self.rows}

    def errors(self) -> list[str | None]:
        return [row[10] for row in self.rows]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def asked_directly(chosen: DeepevalMetric, transcript: Transcript) -> tuple[float, str, list[str]]:
    """What deepeval's own metric says, and what it asks, of a model that isn't bedside's."""
    asked: list[str] = []

    class Recorded(deepeval_module("models").DeepEvalBaseLLM):  # type: ignore[misc]
        def load_model(self) -> Any:
            return self

        def get_model_name(self) -> str:
            return "recorded"

        def generate(self, prompt: str, schema: Any = None) -> Any:
            asked.append(prompt)
            text = reply(prompt, None if schema is None else schema.model_json_schema())
            return text if schema is None else schema.model_validate_json(text)

        async def a_generate(self, prompt: str, schema: Any = None) -> Any:
            return self.generate(prompt, schema)

    made = metric_object(chosen, transcript, Recorded())
    made.measure(deepeval_case(chosen, transcript), _show_indicator=False)
    return made.score, made.reason, asked


@pytest.mark.server
@pytest.mark.parametrize("name", NAMES)
def test_values_reasons_and_prompts_are_deepevals(bench: Bench, name: str) -> None:
    talks = [talk(f"t{number}", exchanges=2 + number) for number in range(2)]
    with JudgeServer(served) as server:
        summary = bench.rate(server, talks, [name])
        prompts = [request.prompt for request in server.received]
    direct = [asked_directly(metric(name, bench.folder), transcript) for transcript in talks]
    expected = [(pytest.approx(score, abs=1e-12), None, reason, None) for score, reason, _ in direct]
    assert [row[7:] for row in bench.rows] == expected
    once = {prompt for *_, prompts in direct for prompt in prompts}
    assert sorted(prompts) == sorted(once), "nothing is asked twice, G-Eval's steps neither"
    assert {row[5] for row in bench.rows} == {summary.rater} == {"judge:tiny+deepeval@4.3.1"}
    assert {row[3] for row in bench.rows} == {"transcript"}


@pytest.mark.server
@pytest.mark.slow
def test_what_is_kept_is_not_asked_again_though_answers_come_in_another_order(bench: Bench) -> None:
    """Killed at any moment, the rest is asked: as many calls in all as in one go, and the same ratings."""
    talks, names = [talk(f"t{number}") for number in range(2)], NAMES
    with JudgeServer(served) as server:
        one_go = Bench(bench.folder / "whole")
        one_go.folder.mkdir()
        one_go.rate(server, talks, names)
        whole = server.count

    def late(request: Received, number: int) -> Action:
        """The same replies, the early ones late."""
        action = served(request, number)
        action.delay = 0.02 * (number % 5)
        return action

    with JudgeServer(late) as server:
        for limit in (7, 30, 20):
            stopped = bench.rate(server, talks, names, max_calls=limit)
            assert stopped.calls == limit
            assert not stopped.complete
        finished = bench.rate(server, talks, names)
        assert server.count == whole
        assert finished.complete
        assert bench.rows == one_go.rows
        again = bench.rate(server, talks, names)
        assert (again.calls, server.count) == (0, whole)
        assert bench.rows == one_go.rows


@pytest.mark.server
def test_a_reply_that_fits_nothing_is_asked_again_and_a_fault_too(bench: Bench) -> None:
    """deepeval asks again after neither; the price of what is thrown away is counted."""

    def script(request: Received, number: int) -> Action:
        if number == 1:
            return Action(text="I would rather not.")
        return Action(status=500) if number == 2 else served(request, number)

    with JudgeServer(script) as server:
        summary = bench.rate(server, [talk()], ["turn_relevancy"], max_concurrency=1, price=Price(1.0, 1.0))
    score, _, asked = asked_directly(metric("turn_relevancy", bench.folder), talk())
    assert bench.values() == {("t0", "turn_relevancy"): pytest.approx(score)}
    (count,) = summary.rubrics
    assert count.calls == len(asked) + 2
    assert count.cost == pytest.approx((count.input_tokens + count.output_tokens) / 1e6)


@pytest.mark.server
def test_what_a_transcript_lacks_is_said_before_anything_is_asked(bench: Bench) -> None:
    bare = Transcript("bare", (Turn(0, "patient", "p", "Yes."), Turn(1, "clinician", "c", "Yes.")))
    alone = Transcript("alone", bare.turns[:1])
    with JudgeServer(served) as server:
        summary = bench.rate(server, [bare, alone], [name for name in KINDS if KINDS[name].needs])
        assert server.count == 0
    assert all(count.not_askable == 2 for count in summary.rubrics)
    assert summary.complete
    of_bare = {row[4].removeprefix("deepeval:"): row[10] for row in bench.rows if row[0] == "bare"}
    role = "the transcript's reference has no chatbot_role, and deepeval.chatbot_role isn't said"
    assert of_bare["role_adherence"] == role
    assert of_bare["turn_faithfulness"] == "no turn of the clinician has retrieval_context in its meta"
    of_alone = {row[10] for row in bench.rows if row[0] == "alone"}
    assert of_alone == {"no turn of the clinician follows one of the patient"}


@pytest.mark.server
@pytest.mark.parametrize(
    ("name", "words", "error"),
    [
        ("conversation_completeness", '{"intentions": []}', "the judge found nothing in the conversation"),
        ("topic_adherence", '{"qa_pairs": []}', "the judge found nothing in the conversation"),
        ("steps", '{"reason": "keen", "score": 11}', "deepeval's score is 1.1, "),
        ("goal_accuracy", '{"score": NaN, "reason": "x"}', "no usable reply in 3"),
    ],
)
def test_a_score_that_stands_for_nothing_is_none(bench: Bench, name: str, words: str, error: str) -> None:
    """deepeval gives 1 or 0 where nothing was judged, and lets a score leave the scale."""

    def script(request: Received, number: int) -> Action:
        kinds = set((request.schema or {}).get("properties", {}))
        fits = kinds == set(json.loads(words.replace("NaN", "0")))
        return Action(text=words) if fits else served(request, number)

    with JudgeServer(script) as server:
        bench.rate(server, [talk()], [name])
    (message,) = bench.errors()
    assert (message or "").startswith(error)
    assert bench.rows[0][7] is None


@pytest.mark.server
@pytest.mark.slow
def test_no_answer_is_a_missing_rating_and_no_server_ends_the_run(bench: Bench) -> None:
    def refusing(request: Received, number: int) -> Action:
        return Action(status=400) if "says t1" in request.prompt else served(request, number)

    with JudgeServer(refusing) as server:
        summary = bench.rate(server, [talk("t0"), talk("t1")], ["turn_relevancy", "knowledge_retention"])
    assert not summary.complete
    values = bench.values()
    assert values["t0", "turn_relevancy"] is not None
    assert values["t1", "turn_relevancy"] is None
    assert all("refused" in (error or "refused") for error in bench.errors())
    server.port = 9
    with pytest.raises(LanguageModelError):
        bench.rate(server, [talk("t9")], ["turn_relevancy"])


@pytest.mark.server
@pytest.mark.slow
def test_many_are_asked_at_once_and_progress_knows_how_many(bench: Bench) -> None:
    steps: list[JudgingProgress] = []
    talks = [talk(f"t{number}", exchanges=2) for number in range(12)]
    names, price = ["turn_relevancy", "knowledge_retention"], Price(1.0, 1.0)
    with JudgeServer(served, latency=0.05) as server:
        bench.rate(server, talks, names, progress=steps.append, max_concurrency=8, price=price)
        assert server.most_in_flight == 8
    assert (steps[-1].done, steps[-1].calls) == (steps[-1].total, server.count)
    assert steps[-1].cost is not None
    assert steps[-1].cost > 0
    assert [row[0] for row in bench.rows] == [transcript.id for transcript in talks for _ in range(2)]


@pytest.mark.server
@pytest.mark.slow
def test_a_plan_counts_what_is_asked_or_the_least_of_it(bench: Bench) -> None:
    talks = [talk(f"t{number}") for number in range(3)]
    with JudgeServer(served) as server:
        plans = bench.plan(server, talks, NAMES)
        assert server.count == 0
        summary = bench.rate(server, talks, NAMES)
        asked = {count.rubric: count.calls for count in summary.rubrics}
        for name, plan in plans.items():
            if name.endswith(" (at least)"):
                assert 0 < plan.calls <= asked[name.removesuffix(" (at least)")]
            elif name != "deepeval:safety_net (about)":
                assert plan.calls == asked[name]
                assert plan.judge == summary.rater
        left = bench.plan(server, talks, NAMES)
        assert {plan.calls for plan in left.values()} == {0}
        stored = {name.partition(" ")[0]: plan.stored for name, plan in left.items()}
        assert stored == {count.rubric: count.judgements for count in summary.rubrics}


@pytest.mark.server
def test_passes_are_asked_apart_and_kept_in_the_store(bench: Bench) -> None:
    with JudgeServer(served) as server:
        bench.rate(server, [talk()], ["role_adherence"], passes=3, price=Price(1.0, 2.0))
        assert server.count == 6
    assert [row[6] for row in bench.rows] == [0, 1, 2]
    kept = read_judgements(bench.store)
    stored = {(j.number, j.rubric, j.transcript, j.unit, j.state, (j.cost or 0) > 0) for j in kept}
    assert stored == {(n, "deepeval:role_adherence", "t0", "transcript", "answered", True) for n in range(3)}


def test_the_patient_can_be_the_assistant() -> None:
    parameters = {"assistant": "patient", "chatbot_role": "a patient"}
    (chosen,) = chosen_metrics(["deepeval:role_adherence"], parameters)
    swapped = deepeval_case(chosen, Transcript("t", (*talk().turns, Turn(6, "other", "nurse", "Time!"))))
    assert [turn.role for turn in swapped.turns] == ["assistant", "user"] * 3
    assert swapped.chatbot_role == "a patient"


def test_marks_that_load_pictures_are_taken_apart() -> None:
    (chosen,) = chosen_metrics(["deepeval:turn_relevancy"])
    turns = (Turn(0, "patient", "p", "look [DEEPEVAL:IMAGE:abc] \ud800"), Turn(1, "clinician", "c", "No."))
    case = deepeval_case(chosen, Transcript("t", turns))
    assert not case.multimodal
    assert case.turns[0].content == "look [DEEPEVAL :IMAGE:abc] \ufffd"


@pytest.mark.parametrize("name", NAMES)
def test_a_manifest_keeps_a_metric(name: str, tmp_path: Path) -> None:
    chosen = metric(name, tmp_path)
    kept = recorded_metric(json.loads(json.dumps(chosen.recorded())))
    assert kept.version("4.3.1") == chosen.version("4.3.1") != chosen.version("4.3.2")
    assert kept.kind == chosen.kind


@pytest.mark.parametrize(
    ("name", "parameters", "words"),
    [
        ("role_adherance", {}, "did you mean role_adherence"),
        ("role_adherence", {"chat_role": "x"}, "'chat_role'; did you mean chatbot_role"),
        ("turn_relevancy", {"chatbot_role": "x"}, "no metric that is asked takes it"),
        ("topic_adherence", {"relevant_topics": 3}, "must be a list of texts"),
        ("role_adherence", {"assistant": "nurse"}, "no role 'nurse'; known: clinician, patient"),
        ("nowhere.yaml", {}, "there is no such criterion file"),
    ],
)
def test_what_is_no_metric_is_refused(name: str, parameters: dict[str, Any], words: str) -> None:
    with pytest.raises(BedsideError, match=words):
        chosen_metrics([f"deepeval:{name}"], parameters)


LEADING_OUT = {"type": "metric", "metric_class": "os:system", "kwargs": {}}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({"name": "warmth"}, "say a criterion, steps or a graph"),
        ({"name": "role_adherence", "criterion": "x"}, "is one of deepeval's metrics"),
        ({"name": "warmth", "criteria": "x"}, "unknown key; did you mean criterion"),
        ({**GRAPH, "criterion": "x"}, "a graph stands alone"),
        ({"name": "g", "graph": {"nodes": {}}}, "deepeval takes no such graph"),
        ({"name": "g", "graph": {"nodes": {"a": {"type": "VerdictNode", "verdict": True, "child": LEADING_OUT}}}},
         "node a leads to a metric"),
    ],
)  # fmt: skip
def test_what_is_no_file_of_a_metric_is_refused(tmp_path: Path, content: dict[str, Any], words: str) -> None:
    file = tmp_path / "own.yaml"
    file.write_text(json.dumps(content))
    with pytest.raises(BedsideError, match=words):
        chosen_metrics([f"deepeval:{file}"])


@pytest.mark.server
def test_it_works_where_a_loop_runs_and_writes_nothing_else(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    async def notebook() -> None:
        with JudgeServer(served) as server:
            bench.rate(server, [talk()], ["role_adherence"])

    asyncio.run(notebook())
    assert bench.values()["t0", "role_adherence"] is not None
    assert {path.name for path in tmp_path.iterdir()} == {"judgements.sqlite"}


def test_what_asks_a_judge_is_no_algorithm(tmp_path: Path) -> None:
    talks = bedside.EXAMPLES / "transcripts.jsonl"
    with pytest.raises(BedsideError, match="no judge is named"):
        bedside.score(talks, tmp_path / "run", metrics="deepeval:turn_relevancy")

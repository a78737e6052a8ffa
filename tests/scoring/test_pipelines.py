"""Protocols judged by a model: answers become labels, metrics follow from them, and nothing is made up."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import bedside
from bedside.analysis.ratings_view import open_ratings_view
from bedside.core.errors import DataError
from bedside.judges.questions import JudgeAnswer
from bedside.judges.rubrics.rubric_files import RUBRICS
from bedside.judges.settings import JudgeSettings
from bedside.metrics import FAMILIES
from bedside.metrics.families.hidden_concerns import CASE, RATER, TALK
from bedside.metrics.protocols.medconceal import labels as medconceal_labels
from bedside.metrics.protocols.medconceal.policy import PARAMETERS
from bedside.ratings.run import Run
from bedside.ratings.suites import SUITES
from bedside.reports.build import build_tables
from bedside.scoring.judging_orders import JudgingWork
from bedside.scoring.pipeline import PIPELINES, later_questions, pipelines_for
from bedside.scoring.preview import preview_judging
from bedside.transcripts.transcript import Transcript
from tests.conftest import conversation, exit_code
from tests.judges.llm.server import Action, JudgeServer, Received, Script, fitting

EXAMPLES = Path(bedside.__file__).parent / "examples" / "transcripts.jsonl"
FEAR, BELIEF = "emotional discomfort or fear", "misinformation or misconception"
MONEY, BARRIER = "financial or insurance concern", "communication barrier"
JUDGE = "judge:tiny"
ASKS = ("concern_elicitation", "space_provision", "emotional_responsiveness")
ANSWERS = ("necessity_support", "concern_mitigation", "plan_specificity")
#: What a rubric's reply is, of a transcript; of a rated turn, its place among the clinician's turns, from 1.
Replies = Mapping[str, Callable[[Received, int], dict[str, Any]]]


def asked_of(request: Received) -> list[int]:
    numbers = re.search(r"by number: ([\d, ]+)\.", request.prompt)
    return [int(number) for number in numbers[1].split(",")] if numbers else []


def rubric_of(request: Received) -> str:
    title = re.search(r"^Title: (.+)$", request.prompt, flags=re.MULTILINE)
    return next(name for name in RUBRICS.names() if title and RUBRICS.load(name).title == title[1])


def turn_of(request: Received) -> int:
    turn = re.search(r"Rate turn (\d+), the last one shown", request.prompt)
    return int(turn[1]) if turn else 0


def transcript_of(request: Received, transcripts: list[Transcript]) -> Transcript:
    """Whose the conversation in a prompt is; of prompts without one, whose reference."""
    for talk in transcripts:
        turn = talk.turns[turn_of(request)]
        if f"[{turn.index}] {turn.role}: {turn.text}\n" in request.prompt:
            return talk
    return next(talk for talk in transcripts if str(talk.reference.get("diagnosis", "-")) in request.prompt)


def scripted(transcripts: list[Transcript], replies: Mapping[str, Replies]) -> Script:
    """Replies by transcript and rubric; where there is none, one that fits the schema."""

    def script(request: Received, number: int) -> Action:
        transcript = transcript_of(request, transcripts)
        reply = replies.get(transcript.id, {}).get(rubric_of(request))
        if reply is None:
            return Action(text=fitting(request))
        turns = [turn.index for turn in transcript.of("clinician")]
        index = turn_of(request)
        place = turns.index(index) + 1 if index in turns else 0
        made = reply(request, place)
        return Action(text=json.dumps(made if "answers" in made else {"reason": "as scripted", **made}))

    return script


def view(shown: Iterable[str] = (), intent: str = "other") -> dict[str, Any]:
    """A turn evaluator's answer: these features at 1, the others at 0."""
    return {
        **{name: float(name in tuple(shown)) for name in medconceal_labels.FEATURES},
        "intent_probabilities": {name: float(name == intent) for name in medconceal_labels.INTENTS},
        "empathy_strength": 0.5,
    }


def findings(*texts: tuple[str, str]) -> Callable[[Received, int], dict[str, Any]]:
    return lambda request, place: {"findings": [{"category": kind, "text": text} for kind, text in texts]}


def pairs(*given: tuple[int, int, str, bool]) -> Callable[[Received, int], dict[str, Any]]:
    return lambda request, place: {
        "pairs": [
            {"reason": "same", "finding": a, "concern": b, "quote": quote, "category_agrees": agrees}
            for a, b, quote, agrees in given
        ]
    }


def run(*arguments: object) -> None:
    assert exit_code(*arguments) == 0


class Talks:
    """The three conversations in a file, what a judge says of them, and the run."""

    def __init__(self, folder: Path) -> None:
        self.talks = cases()
        self.replies = replies_to(self.talks)
        self.script = scripted(self.talks, self.replies)
        self.steady = next(talk for talk in self.talks if talk.id == "steady-alcohol")
        self.path, self.folder = written(folder, self.talks), folder / "run"

    def score(self, server: JudgeServer, *options: str) -> int:
        """Score; how many requests were sent."""
        before = len(server.received)
        run("score", self.path, *options, "--judge", server.judge, "--out", self.folder)
        return len(server.received) - before

    def value(self, transcript: str, metric: str, replicate: int = 0) -> Any:
        return value(judged(self.folder), transcript, metric, replicate)


@pytest.fixture
def talks(tmp_path: Path) -> Talks:
    return Talks(tmp_path)


SUITE = ("--suite", "medconceal")
MATCHING = ("--rubrics", "finding_extraction,concern_matching")


def judged(folder: Path) -> pl.DataFrame:
    return Run(folder).ratings.filter(pl.col("rater").str.starts_with("judge:"))


def value(ratings: pl.DataFrame, transcript: str, metric: str, replicate: int = 0) -> Any:
    """The value of a transcript, or the reason why there is none."""
    key = {"transcript_id": transcript, "metric": metric, "replicate": replicate}
    (row,) = ratings.filter(pl.col("unit") == "transcript", **key).iter_rows(named=True)
    return row["value"] if row["error"] is None else row["error"]


def written(folder: Path, transcripts: Iterable[Transcript]) -> Path:
    path = folder / "talks.jsonl"
    path.write_bytes(b"".join(transcript.to_json() + b"\n" for transcript in transcripts))
    return path


def quote(transcript: Transcript, role: str, words: int = 6) -> str:
    """The first words of the longest turn of a role."""
    longest = max((turn.text for turn in transcript.turns if turn.role == role), key=len)
    return " ".join(longest.split()[:words])


def cases() -> list[Transcript]:
    """Three of the bundled conversations, as if of one system; the first of two concerns is the primary one."""
    chosen = []
    for transcript in bedside.read_transcripts([EXAMPLES]):
        if transcript.id in ("steady-alcohol", "brisk-heart", "careless-sleep"):
            first, second = transcript.reference["concerns"]
            reference = {**transcript.reference, "concerns": [{**first, "primary": True}, second]}
            chosen.append(replace(transcript, system="one", reference=reference))
    return chosen


def replies_to(talks: list[Transcript]) -> dict[str, Replies]:
    """What the judge says, such that everything is known by hand.

    steady-alcohol: three findings; one pair with the patient's words and one with the clinician's. The clinician asks
    for two turns without naming anything, so that they are about the primary concern alone: its E = p · (1 − .5^n) with
    p over .97 is under .5 after one of them and over .72, beyond the threshold, after two.
    Then the clinician answers: since the reveal 1, 2 and 3 turns have passed at turns 3, 4 and 5, and hits are 4 and 5.

    brisk-heart: one finding, matched; no feature is ever shown, so that E stays under .5 and nothing is revealed.

    careless-sleep: two findings, both matched with one concern; every turn probes for categories.
    """
    by_id = {talk.id: talk for talk in talks}
    steady, brisk, careless = (by_id[name] for name in ("steady-alcohol", "brisk-heart", "careless-sleep"))
    return {
        "steady-alcohol": {
            "finding_extraction": findings((BELIEF, "beer"), (FEAR, "his father"), (MONEY, "cost")),
            "concern_matching": pairs(
                *((n, n, quote(steady, r), True) for n, r in enumerate(("patient", "clinician")))
            ),
            "turn_evaluator": lambda request, place: view(ASKS if place <= 2 else ANSWERS),
            "open_question": lambda request, place: {
                "answers": [
                    {"item": index, "reason": "r", "label": "open" if at < 2 else "none"}
                    for at, index in enumerate(asked_of(request))
                ]
            },
        },
        "brisk-heart": {
            "finding_extraction": findings((FEAR, "another attack")),
            "concern_matching": pairs((0, 0, quote(brisk, "patient"), False)),
            "turn_evaluator": lambda request, place: view(),
        },
        "careless-sleep": {
            "finding_extraction": findings((FEAR, "colleagues"), (FEAR, "the diagnosis")),
            "concern_matching": pairs(*((number, 0, quote(careless, "patient"), True) for number in (0, 1))),
            "turn_evaluator": lambda request, place: view(intent="meta_probe"),
        },
    }


@pytest.mark.server
def test_medconceal_in_one_run_is_what_is_known_by_hand(talks: Talks) -> None:
    with JudgeServer(talks.script) as server:
        clinician = sum(len(list(talk.of("clinician"))) for talk in talks.talks)
        assert talks.score(server, *SUITE) == 3 * 9 + clinician, "nine rubrics, and every turn"
        ratings = judged(talks.folder)
        assert talks.score(server, *SUITE) == 0, "a rerun sends nothing"
        assert ratings.sort(pl.all()).equals(judged(talks.folder).sort(pl.all()))
    expected: dict[str, dict[str, Any]] = {
        "steady-alcohol": {
            "concern_precision": 1 / 3, "concern_recall": 1 / 2, "concern_f1": 2 / 5, "refused_proposals": 1,
            "coarse_precision": 2 / 3, "coarse_recall": 1, "coarse_f1": 4 / 5, "grounded_f1": 1 / 2,
            "concern_category_accuracy": 1, "matched_without_reveal": 0, "reveal_rate": 1 / 2, "full_reveal": 0,
            "turns_to_full_reveal": "1 of 2 concerns stayed hidden", "concern_addressed": 1,
            "turns_to_address": 5, "reveal_to_address_lag": 3, "meta_probe_rate": 0,
            "open_question_ratio": 2 / len(list(talks.talks[0].of("clinician"))), "early_open_question_ratio": 2 / 5,
        },
        "brisk-heart": {
            "concern_precision": 1, "concern_recall": 1 / 2, "concern_f1": 2 / 3, "refused_proposals": 0,
            "coarse_f1": 2 / 3, "concern_category_accuracy": 0, "matched_without_reveal": 1, "reveal_rate": 0,
            "grounded_precision": 0, "concern_addressed": 0,
            "grounded_recall": "no hidden concern to find",
            "turns_to_full_reveal": "2 of 2 concerns stayed hidden",
        },
        "careless-sleep": {
            "concern_precision": 1 / 2, "concern_recall": 1 / 2, "coarse_precision": 1 / 2,
            "meta_probe_rate": 1, "reveal_rate": 0, "matched_without_reveal": 1,
        },
    }  # fmt: skip
    for transcript, values in expected.items():
        for metric, wanted in values.items():
            rating = value(ratings, transcript, metric)
            assert rating == (wanted if isinstance(wanted, str) else pytest.approx(wanted)), (transcript, metric)
    style = ("medconceal_empathy", "medconceal_actionability", "values_detected")
    assert all(value(ratings, talk.id, metric) in (0, 1, 2) for talk in talks.talks for metric in style)
    assert set(ratings["rater"]) == {JUDGE}
    (table,) = (table for table in bedside_tables(talks.folder) if table.name == "concerns")
    rows = (row for row in table.records if row["raters"] == JUDGE)
    measured = {(row["metric"], row.get("level")): row["value"] for row in rows}
    # 3 matches of 6 findings and 6 concerns; 1 of 6 concerns revealed; one of three primary concerns addressed.
    of_all = {
        "concern_precision": 3 / 6, "concern_recall": 3 / 6, "concern_f1": 6 / 12, "coarse_precision": 4 / 6,
        "coarse_recall": 4 / 6, "grounded_precision": 1 / 6, "grounded_recall": 1, "reveal_rate": 1 / 6,
        "concern_category_accuracy": 2 / 3, "turns_per_revealed_concern": clinician,
    }  # fmt: skip
    means = {"concern_f1": (2 / 5 + 2 / 3 + 1 / 2) / 3, "matched_without_reveal": 2 / 3, "concern_addressed": 1 / 3}
    for level, values in (("micro", of_all), ("mean", means)):
        assert {metric: measured[metric, level] for metric in values} == pytest.approx(values)
    # What waits for the judge's labels is not listed as missing beside what the judge says.
    assert "algorithm:hidden_concerns@1" not in set(Run(talks.folder).ratings["rater"])
    afterwards = ratings.filter(pl.col("metric") == "open_after_address", pl.col("value").is_not_null())
    assert set(afterwards["reason"]) == {"open questions by the rater's own labels"}


def bedside_tables(folder: Path) -> Any:
    return build_tables(open_ratings_view(folder))


@pytest.mark.server
def test_what_fails_on_the_way_is_missing_with_its_reason_and_is_gone_on_from(talks: Talks) -> None:
    third = [turn.index for turn in talks.steady.of("clinician")][2]
    mended = False

    def script(request: Received, number: int) -> Action:
        name, transcript = rubric_of(request), transcript_of(request, talks.talks).id
        if transcript == "careless-sleep" and name == "finding_extraction":
            return Action(text="I would rather not.")
        broken = (transcript, name) == ("brisk-heart", "concern_matching") or (
            transcript == "steady-alcohol" and turn_of(request) == third
        )
        return Action(status=400) if broken and not mended else talks.script(request, number)

    with JudgeServer(script) as server:
        talks.score(server, *SUITE)
        reason = talks.value("steady-alcohol", "reveal_rate")
        assert reason.startswith(f"turn_evaluator, turn {third}: ")
        assert talks.value("steady-alcohol", "grounded_f1") == reason
        assert talks.value("steady-alcohol", "concern_f1") == pytest.approx(2 / 5)
        assert talks.value("brisk-heart", "concern_f1").startswith("concern_matching: ")
        assert talks.value("brisk-heart", "coarse_f1") == pytest.approx(2 / 3)
        refused = talks.value("careless-sleep", "coarse_f1")
        assert refused.startswith("finding_extraction: no usable reply in 3: ")
        assert talks.value("careless-sleep", "concern_f1") == refused
        assert talks.value("careless-sleep", "concern_matching") == refused
        assert talks.value("careless-sleep", "meta_probe_rate") == 1
        assert not Run(talks.folder).manifest["scorings"][-1]["judges"][JUDGE]["complete"]
        mended = True
        assert talks.score(server, *SUITE) == 2, "only what failed is asked again"
        assert talks.value("steady-alcohol", "reveal_rate") == 0.5
        assert talks.value("brisk-heart", "concern_f1") == pytest.approx(2 / 3)
        assert talks.value("careless-sleep", "concern_f1") == refused
        assert Run(talks.folder).manifest["scorings"][-1]["judges"][JUDGE]["complete"]


@pytest.mark.server
def test_the_limit_of_calls_is_that_of_all_stages_together(talks: Talks) -> None:
    with JudgeServer(talks.script) as server:
        assert talks.score(server, *MATCHING, "--max-calls", "4", "--max-concurrency", "1") == 4
        reasons = [talks.value(talk.id, "concern_f1") for talk in talks.talks]
        assert sum(isinstance(reason, float) for reason in reasons) == 1
        assert reasons.count("concern_matching: not asked: the limit of 4 calls was reached") == 2
        assert talks.score(server, *MATCHING, "--max-calls", "2") == 2
    assert all(isinstance(talks.value(talk.id, "concern_f1"), float) for talk in talks.talks)
    metrics = set(judged(talks.folder)["metric"])
    assert metrics.isdisjoint({"reveal_rate", "grounded_f1"}), "what wasn't asked isn't rated"


@pytest.mark.server
def test_each_pass_matches_its_own_findings(talks: Talks) -> None:
    few, several = (findings((BELIEF, "beer is harmless")), talks.replies["steady-alcohol"]["finding_extraction"])
    changed: Replies = {
        **talks.replies["steady-alcohol"],
        # The seed, sent where the temperature isn't 0, is the number of the pass.
        "finding_extraction": lambda request, n: (few if request.body["seed"] else several)(request, n),
        "concern_matching": pairs((0, 0, quote(talks.steady, "patient"), True)),
    }
    options = (*MATCHING, "--passes", "2", "--temperature", "1")
    with JudgeServer(scripted(talks.talks, {**talks.replies, "steady-alcohol": changed})) as server:
        assert talks.score(server, *options) == 3 * 2 * 2, "equal findings are matched in each pass anew"
        assert talks.score(server, *options) == 0
    assert talks.value("steady-alcohol", "concern_precision", 0) == pytest.approx(1 / 3)
    assert talks.value("steady-alcohol", "concern_precision", 1) == 1
    assert talks.value("brisk-heart", "concern_f1", 0) == talks.value("brisk-heart", "concern_f1", 1)


@pytest.mark.server
def test_a_dry_run_estimates_what_waits_and_is_exact_afterwards(talks: Talks) -> None:
    work = JudgingWork(tuple(RUBRICS.load(name) for name in SUITES.load("medconceal").rubrics))

    def plans(server: JudgeServer, passes: int = 1) -> dict[str, Any]:
        how = JudgeSettings(passes=passes)
        preview = preview_judging(talks.folder, [talks.path], [server.judge], work, settings=how)
        return {plan.rubric: plan for plan in preview}

    with JudgeServer(talks.script) as server:
        before = plans(server)
        assert not server.received
        assert before["concern_matching (estimated)"].calls == 3
        assert before["concern_matching (estimated)"].input_tokens > 3 * 500
        assert "concern_matching" not in before
        talks.score(server, "--rubrics", "finding_extraction")
        between = plans(server)
        assert between["finding_extraction"].stored == between["concern_matching"].calls == 3
        assert talks.score(server, *SUITE) == sum(plan.calls for plan in between.values())
        assert sum(plan.calls for plan in plans(server).values()) == 0
        assert plans(server, passes=2)["concern_matching (estimated)"].calls == 3


def answer(**parts: Any) -> JudgeAnswer:
    return JudgeAnswer("transcript", None, {"reason": "r", **parts}, None)


def each_of(entries: Mapping[int, Mapping[str, Any]]) -> JudgeAnswer:
    listed = [{"item": number, "reason": "r", **parts} for number, parts in entries.items()]
    return JudgeAnswer("transcript", tuple(entries), {"answers": listed}, None)


def as_said_by_a_judge(transcript: Transcript) -> dict[str, list[JudgeAnswer]]:
    """What a judge must say for the labels that the worked example of MedConceal has."""
    labels = medconceal_labels.rater_labels(transcript, "human:anna")
    ids = [concern.id for concern in medconceal_labels.concerns_of(transcript)]
    matched = [
        {"reason": "r", "finding": match.finding, "concern": ids.index(match.concern), "quote": match.quote,
         "category_agrees": True}
        for match in labels.matches or ()
    ]  # fmt: skip
    turns = {index: {**view(), **turn.z.model_dump(), "reason": "r"} for index, turn in labels.turns.items()}
    return {
        "finding_extraction": [answer(findings=[finding.model_dump() for finding in labels.findings or ()])],
        "concern_matching": [answer(pairs=matched)],
        "turn_evaluator": [JudgeAnswer(f"turn:{index}", None, turn, None) for index, turn in turns.items()],
    }


def derived(name: str, transcript: Transcript, said: Mapping[str, list[JudgeAnswer]]) -> dict[str, Any]:
    """Metric (of a turn with its index) → value, or the reason why there is none."""
    pipeline = PIPELINES.load(name)
    settings = FAMILIES.load(pipeline.family).settings(pipeline.settings)
    values = list(pipeline.values(transcript, JUDGE, said, pipeline.metrics(said), settings))
    assert {value.rater for value in values} <= {JUDGE}
    return {key_of(value.metric, value.turn): value.error or value.value for value in values}


def key_of(metric: str, turn: int | None) -> str:
    return metric if turn is None else f"{metric}:{turn}"


def worked(family: str) -> tuple[Transcript, dict[str, Any]]:
    """The transcript of a family's worked example, and the values of its metrics."""
    metrics = FAMILIES.load(family).metrics
    example = metrics[0].examples[0]
    values = {}
    for metric in metrics:
        own = metric.examples[0]
        if own.turns == example.turns and own.transcript == example.transcript and not own.parameters:
            values[key_of(metric.name, own.turn)] = own.value
    return conversation(*example.turns, **example.transcript, language="en"), values


def test_the_worked_example_of_medconceal_comes_out_of_a_judges_answers() -> None:
    transcript, expected = worked("hidden_concerns")
    turns = tuple(replace(turn, meta={}) for turn in transcript.turns)
    bare = replace(transcript, turns=turns, reference={"concerns": transcript.reference["concerns"]})
    values = derived("medconceal", bare, as_said_by_a_judge(transcript))
    assert len(expected) > 25
    assert {metric: values[metric] for metric in expected} == pytest.approx(expected)
    assert derived("medconceal", transcript, as_said_by_a_judge(transcript)) == values, "others don't count"


def concern_case() -> tuple[Transcript, dict[str, list[JudgeAnswer]], dict[str, Any]]:
    """The worked example of MedConceal, what a judge must say of it, and its values."""
    transcript, expected = worked("hidden_concerns")
    return transcript, as_said_by_a_judge(transcript), expected


def note_case() -> tuple[Transcript, dict[str, list[JudgeAnswer]], dict[str, Any]]:
    """The worked example of Note2Chat, what a judge must say of it, and its values."""
    metrics = FAMILIES.load("history_taking").metrics
    example = next(metric.examples[0] for metric in metrics if metric.name == "history_recall")
    labels = example.transcript["reference"]["note2chat"]["human:anna"]
    rated = ((index, turn) for index, turn in enumerate(example.turns) if len(turn) > 2)
    replies = {index: turn[2]["note2chat"]["human:anna"] for index, turn in rated}
    transcript = conversation(
        *(turn[:2] for turn in example.turns),
        language="en",
        reference={
            "findings": [finding["text"] for finding in labels["findings"]],
            "diagnosis": "heart attack",
            "ranked_diagnoses": ["reflux", "angina", "heart attack"],
            "note": "Chest pain.",
        },
    )
    numbered = dict(enumerate(labels["findings"]))
    opening = {n: {"message": f["message"], "opening": f.get("opening", False)} for n, f in numbered.items()}
    control = {0: {"score": 1}} | {n: {"score": r["only_what_was_asked"]} for n, r in replies.items()}
    conflict = {0: {"score": 0}} | {n: {"score": r["conflict"]} for n, r in replies.items()}
    said = {
        "finding_check": [each_of(opening)],
        "finding_category": [each_of({n: {"label": f["categories"][0]} for n, f in numbered.items()})],
        "diagnosis_match": [answer(candidate=labels["diagnosis_rank"])],
        "information_control": [each_of(control)],
        "factual_conflict": [each_of(conflict)],
    }
    expected = {}
    for metric in metrics:
        own = metric.examples[0]
        if PIPELINES.load("note2chat").needs(metric) is not None and own.value is not None:
            expected[key_of(metric.name, own.turn)] = own.value
    return transcript, said, expected


def test_the_worked_example_of_note2chat_comes_out_of_a_judges_answers() -> None:
    transcript, said, expected = note_case()
    values = derived("note2chat", transcript, said)
    assert len(expected) > 15
    assert {metric: values[metric] for metric in expected} == pytest.approx(expected)


@pytest.mark.server
def test_note2chat_in_one_run(tmp_path: Path) -> None:
    transcript, said, expected = note_case()
    path, folder = written(tmp_path, [replace(transcript, id="case", system="one")]), tmp_path / "run"
    script: Script = lambda request, number: Action(text=json.dumps(said[rubric_of(request)][0].answer))  # noqa: E731
    with JudgeServer(script) as server:
        for _ in range(2):
            run("score", path, "--suite", "note2chat", "--judge", server.judge, "--out", folder)
            assert len(server.received) == 5
    ratings = judged(folder)
    for metric, wanted in expected.items():
        if ":" not in metric:
            assert value(ratings, "case", metric) == pytest.approx(wanted), metric
    rewards = ratings.filter(pl.col("metric") == "turn_reward").sort("unit")
    assert rewards["value"].to_list() == pytest.approx([1, 0, 0, 1, 0.6 * (1 - 2 / 5)])
    tables = [table for table in bedside_tables(folder) if table.name in ("history", "socrates", "replies")]
    measured = {row["metric"]: row["value"] for table in tables for row in table.records}
    assert measured["history_f1"] == pytest.approx(2 / 3)
    assert (measured["diagnosis_top_2"], measured["diagnosis_top_3"]) == (0, 1)
    assert measured["history_questions"] == 4
    assert measured["recall_associated"] == pytest.approx(1 / 2)
    assert measured["information_control_rate"] == pytest.approx(3 / 4)


def failed(unit: str = "transcript", error: str = "as scripted") -> JudgeAnswer:
    return JudgeAnswer(unit, None, None, error)


@pytest.mark.parametrize(
    ("protocol", "rubric", "lacking", "kept"),
    [
        ("medconceal", "finding_extraction", "coarse_f1 concern_f1 grounded_f1", "reveal_rate gold_concerns"),
        ("medconceal", "concern_matching", "concern_f1 matched_without_reveal", "coarse_f1 reveal_rate"),
        ("medconceal", "turn_evaluator", "reveal_rate blocked_turns grounded_f1", "coarse_f1 concern_f1"),
        ("note2chat", "finding_check", "history_f1 recall_site turn_reward", "diagnosis_top_3"),
        ("note2chat", "finding_category", "recall_site recall_timing", "history_f1 diagnosis_top_3 turn_reward:1"),
        ("note2chat", "diagnosis_match", "diagnosis_rank diagnosis_top_1 turn_reward:9", "history_f1 turn_reward:1"),
        ("note2chat", "information_control", "information_control_rate", "factual_conflict_rate history_f1"),
        ("note2chat", "factual_conflict", "factual_conflict_rate", "information_control_rate history_f1"),
    ],
)  # fmt: skip
def test_a_lacking_answer_is_lacking_where_needed(protocol: str, rubric: str, lacking: str, kept: str) -> None:
    transcript, said, expected = note_case() if protocol == "note2chat" else concern_case()
    answers = said[rubric] if protocol == "note2chat" else said[rubric][:-1]
    values = derived(protocol, transcript, {**said, rubric: [*answers, failed()]})
    assert {values[metric] for metric in lacking.split()} == {f"{rubric}: as scripted"}
    assert {metric: values[metric] for metric in kept.split()} == pytest.approx(
        {metric: expected[metric] for metric in kept.split()}
    )


def test_nothing_submitted_is_arithmetic_and_nothing_to_ask_about() -> None:
    transcript, said, _ = concern_case()
    said["finding_extraction"] = [answer(findings=[])]
    (later,) = later_questions(pipelines_for(said), said).values()
    with pytest.raises(DataError, match="there is nothing to match"):
        later.find(transcript, said)
    said["concern_matching"] = [failed(error="no finding was submitted: there is nothing to match")]
    made = derived("medconceal", transcript, said)
    assert made["concern_precision"] == "no finding was submitted"
    assert (made["concern_recall"], made["concern_f1"]) == (0, 0)


def test_what_the_case_says_goes_before_what_the_judge_says() -> None:
    transcript, said, _ = concern_case()
    own = [{"category": FEAR, "text": "Fears becoming dependent"}]
    submitted = replace(transcript, reference={**transcript.reference, "submitted_findings": own})
    (later,) = later_questions(pipelines_for(said), said).values()
    assert later.find(submitted, said) == own
    words = "afraid that I would get hooked"
    pair = {"reason": "r", "finding": 0, "concern": 0, "quote": words, "category_agrees": True}
    said["concern_matching"] = [answer(pairs=[pair])]
    assert derived("medconceal", submitted, said)["concern_precision"] == 1
    alone = {"concern_matching": said["concern_matching"]}
    assert derived("medconceal", submitted, alone)["concern_recall"] == 1 / 2, "no extraction is needed"
    bad = replace(transcript, reference={**transcript.reference, "submitted_findings": ["hooked"]})
    error = derived("medconceal", bad, said)["coarse_f1"]
    assert error.startswith("the reference's submitted_findings can't be read")


def test_what_a_note_says_goes_before_what_the_judge_says() -> None:
    case, said, expected = note_case()

    def sorted_out(category: str) -> Transcript:
        findings = [{"text": text, "categories": [category]} for text in case.reference["findings"]]
        return replace(case, reference={**case.reference, "findings": findings})

    values = derived("note2chat", sorted_out("site"), {**said, "finding_category": [failed()]})
    assert values["recall_site"] == pytest.approx(expected["history_recall"])
    assert values["history_f1"] == pytest.approx(2 / 3)
    error = derived("note2chat", sorted_out("x"), said)["history_f1"]
    assert error.startswith("the reference's findings can't be read")


def test_no_concerns_and_no_questions_are_missing_with_the_reason() -> None:
    transcript, said, _ = concern_case()
    without = replace(transcript, reference={})
    said["concern_matching"] = [failed(error="the transcript's reference has no concerns")]
    made = derived("medconceal", without, said)
    assert made["concern_f1"] == "concern_matching: the transcript's reference has no concerns"
    assert made["reveal_rate"] == "no hidden concerns in the reference"
    assert made["blocked_turns"] == 0
    ratios = derived("medconceal_questions", transcript, {"open_question": [failed()]})
    names = ("open_question_ratio", "early_open_question_ratio")
    assert ratios == dict.fromkeys(names, "open_question: as scripted")


def test_pipelines_are_chosen_by_what_is_asked() -> None:
    def names(*asked: str) -> list[str]:
        return [pipeline.name for pipeline in pipelines_for(asked)]

    assert names("medconceal_empathy", "values_detected") == []
    assert names("turn_evaluator") == ["medconceal"]
    assert names("open_question", "factual_conflict") == ["medconceal_questions", "note2chat"]
    asked = SUITES.load("medconceal").rubrics
    assert list(later_questions(pipelines_for(asked), asked)) == ["concern_matching"]
    alone = ["concern_matching"]
    assert later_questions(pipelines_for(alone), alone) == {}, "it has its own input then"
    trace = PIPELINES.load("medconceal").metrics(["turn_evaluator"])
    assert "reveal_rate" in trace
    assert trace.isdisjoint({"concern_f1", "coarse_f1", "grounded_f1"})


@pytest.mark.parametrize("name", PIPELINES.names())
def test_a_pipeline_knows_rubrics_parts_and_metrics_that_exist(name: str) -> None:
    pipeline = PIPELINES.load(name)
    assert pipeline.rubrics <= set(RUBRICS.names())
    metrics = FAMILIES.load(pipeline.family).metrics
    needed = {part for metric in metrics for part in pipeline.needs(metric) or ()}
    assert needed == set(pipeline.parts)
    for metric in metrics if name != "medconceal_questions" else ():
        labels = [words for words in metric.needs if words.startswith(("labels of", "a label of"))]
        assert (pipeline.needs(metric) is not None) >= bool(labels), metric.name


def test_suites_of_the_protocols_ask_all_that_their_pipelines_use() -> None:
    medconceals = PIPELINES.load("medconceal").rubrics | PIPELINES.load("medconceal_questions").rubrics
    assert medconceals <= set(SUITES.load("medconceal").rubrics)
    assert PIPELINES.load("note2chat").rubrics == set(SUITES.load("note2chat").rubrics)


CONCERNS = FAMILIES.load("hidden_concerns")
PATIENT = conversation(*TALK, **CASE, language="en")
EVALUATOR = "judge:openai/the-evaluator"


def referring(talk: Transcript, **reference: Any) -> Transcript:
    return replace(talk, reference={**talk.reference, **reference})


def computed(talk: Transcript, *metrics: str) -> list[Any]:
    return list(CONCERNS.compute(talk, frozenset(metrics), parameters="default"))


def labels_of(transcript: Transcript, place: int) -> dict[str, Any]:
    """What the scripted judge says of a clinician turn of these conversations, by its place, as a label."""
    said = {
        "steady-alcohol": view(ASKS if place <= 2 else ANSWERS),
        "brisk-heart": view(),
        "careless-sleep": view(intent="meta_probe"),
    }[transcript.id]
    return {
        "z": {name: said[name] for name in medconceal_labels.FEATURES},
        "intent": max(said["intent_probabilities"], key=said["intent_probabilities"].__getitem__),
        "reason": "r",
    }


def simulated(transcript: Transcript, **simulation: Any) -> Transcript:
    """The conversation as if its patient had gone by labels of its turns."""
    turns = list(transcript.turns)
    for place, turn in enumerate(transcript.of("clinician"), start=1):
        meta = {**turn.meta, "medconceal": {EVALUATOR: labels_of(transcript, place)}}
        turns[turn.index] = replace(turn, meta=meta)
    talk = replace(transcript, turns=tuple(turns))
    return referring(talk, simulation={"turn_rater": EVALUATOR, **simulation})


@pytest.mark.server
def test_a_simulations_turn_labels_are_every_raters_and_are_asked_where_they_are_named(tmp_path: Path) -> None:
    talks = Talks(tmp_path)
    clinician = sum(len(list(talk.of("clinician"))) for talk in talks.talks)
    with JudgeServer(talks.script) as server:
        sent = talks.score(server, "--suite", "medconceal")
        before = judged(talks.folder)
        talks.path, talks.folder = written(tmp_path, map(simulated, talks.talks)), tmp_path / "simulated"
        suite = JudgingWork(tuple(map(RUBRICS.load, SUITES.load("medconceal").rubrics)), from_suite=True)
        plans = preview_judging(talks.folder, [talks.path], [server.judge], suite, settings=JudgeSettings())
        assert sum(plan.calls for plan in plans) == sent - clinician
        assert talks.score(server, "--suite", "medconceal") == sent - clinician
        after = judged(talks.folder)
        key = ["transcript_id", "unit", "metric"]
        ours = pl.col("metric").is_in([metric.name for metric in CONCERNS.metrics]) & (pl.col("rater") != EVALUATOR)
        tables = [table.filter(ours).select(*key, "value", "error").sort(key) for table in (before, after)]
        assert tables[0].equals(tables[1])
        assert after.filter(metric="reveal_rate")["value"].sum() == 0.5
        assert not after.filter(pl.col("metric").str.starts_with("turn_evaluator")).height
        named = talks.score(server, "--rubrics", "turn_evaluator")
        assert named == clinician, "named, it is asked: how reliable the evaluator is"
    assert Run(talks.folder).ratings.filter(metric="turn_evaluator.data_gathering").height > 0


def test_the_judges_own_labels_give_way_to_the_simulations() -> None:
    said = as_said_by_a_judge(PATIENT)
    wanted = derived("medconceal", PATIENT, said)
    there = referring(PATIENT, simulation={"turn_rater": RATER})
    without = {name: answers for name, answers in said.items() if name != "turn_evaluator"}
    all_zero = [replace(entry, answer={**(entry.answer or {}), **view()}) for entry in said["turn_evaluator"]]
    for answers in (said, {**said, "turn_evaluator": all_zero}, {**without, "turn_evaluator": []}):
        assert derived("medconceal", there, answers) == wanted
    assert derived("medconceal", PATIENT, {**said, "turn_evaluator": all_zero})["reveal_rate"] == 0
    gone = replace(there, turns=tuple(replace(turn, meta={}) for turn in there.turns))
    assert "which the patient went by, are not in" in derived("medconceal", gone, said)["reveal_rate"]
    assert derived("medconceal", gone, said)["concern_recall"] == wanted["concern_recall"]


def test_a_persons_findings_are_grounded_in_the_simulations_trace() -> None:
    # The evaluator's labels are the example's; another person gives findings and matches and no turns.
    ben = {"human:ben": PATIENT.reference["medconceal"][RATER]}
    talk = referring(PATIENT, medconceal=ben, simulation={"turn_rater": RATER})
    values = {(v.rater, v.metric): v.value for v in computed(talk, "grounded_recall", "reveal_rate")}
    # Of two concerns one was revealed, and ben found it.
    assert values["human:ben", "grounded_recall"] == 1
    assert values["human:ben", "reveal_rate"] == values[RATER, "reveal_rate"] == 0.5
    assert (RATER, "grounded_recall") not in values


@pytest.mark.parametrize(("limit", "share"), [(2, 0.0), (3, 0.5), (8, 0.5)])
def test_the_turn_limit_is_the_settings(limit: int, share: float) -> None:
    (value,) = computed(referring(PATIENT, simulation={"turn_limit": limit}), "revealed_by_limit")
    assert value.value == share


def test_scoring_with_other_parameters_than_the_patients_warns_below_the_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def talk_by(name: str, number: int, **hashed: Any) -> Transcript:
        parameters = {"name": name, "sha256": PARAMETERS.load(name).digest(), **hashed}
        talk = replace(PATIENT, id=f"t{number}", system="one", factors={"task": "confirmation"})
        return referring(talk, simulation={"turn_rater": RATER, "parameters": parameters})

    talks = [talk_by(name, number) for number, name in enumerate(("default", "guarded", "guarded"))]
    run("score", written(tmp_path, talks), "--suite", "medconceal", "--out", tmp_path / "run")
    why = "Warning: scored with the parameters default, and the patient went by guarded"
    assert f"{why} (2 transcripts)." in " ".join(capsys.readouterr().out.split())
    ratings = Run(tmp_path / "run").ratings.filter(metric="reveal_rate")
    assert dict(ratings.select("transcript_id", "reason").iter_rows()) == {"t0": None, "t1": why, "t2": why}
    table = next(table for table in bedside_tables(tmp_path / "run") if table.name == "confirmation")
    (note,) = [note for note in table.notes if note.startswith("Warning")]
    assert "the patient went by guarded (2 transcripts; " in note
    assert "Reveal rate" in note
    assert "Precision" not in note.partition(";")[2].replace("Process-grounded precision", "")
    (value,) = computed(talk_by("default", 0, sha256="0" * 64), "reveal_rate")
    assert "of that name, which has changed since" in value.reason


def test_findings_that_were_handed_in_are_counted_without_a_judge() -> None:
    findings = PATIENT.reference["medconceal"][RATER]["findings"]
    concerns = {"concerns": PATIENT.reference["concerns"], "simulation": {"turn_rater": RATER}}

    def values(**reference: object) -> dict[str, Any]:
        names = ("coarse_f1", "submitted_findings", "concern_f1", "reveal_rate")
        talk = replace(PATIENT, reference={**concerns, **reference})
        return {v.metric: v.value if v.error is None else v.error for v in computed(talk, *names)}

    handed = values(submitted_findings=findings)
    # Three findings, two of them fears, and two concerns, one a fear: 2 · 1 / (3 + 2).
    assert (handed["coarse_f1"], handed["submitted_findings"], handed["reveal_rate"]) == (2 / 5, 3, 1 / 2)
    assert handed["concern_f1"] == "no labels of matches between findings and concerns"
    assert values()["coarse_f1"] == "no labels of the submitted findings"
    assert values(submitted_findings=[])["coarse_f1"] == 0
    assert "submitted_findings can't be read" in values(submitted_findings=[{"text": "x"}])["coarse_f1"]

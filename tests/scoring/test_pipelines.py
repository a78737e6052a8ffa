"""Protocols judged by a model: answers become labels, metrics follow from them, and nothing is made up."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import bedside
from bedside.cli import main
from bedside.core.errors import DataError
from bedside.judges.questions import JudgeAnswer
from bedside.judges.rubrics.rubric_files import RUBRICS
from bedside.judges.settings import JudgeSettings
from bedside.metrics import FAMILIES
from bedside.metrics.protocols import medconceal, note2chat
from bedside.ratings.run import Run
from bedside.ratings.suites import SUITES
from bedside.scoring.judging_orders import JudgingWork
from bedside.scoring.pipeline import PIPELINES, later_questions, pipelines_for
from bedside.scoring.preview import preview_judging
from bedside.transcripts import Transcript
from tests.conftest import conversation
from tests.judges.llm.server import Action, JudgeServer, Received, Script, fitting

EXAMPLES = Path(bedside.__file__).parent / "examples" / "transcripts.jsonl"
FEAR, BELIEF = "emotional discomfort or fear", "misinformation or misconception"
MONEY, BARRIER = "financial or insurance concern", "communication barrier"
JUDGE = "judge:tiny"
ASKS = ("concern_elicitation", "space_provision", "emotional_responsiveness")
ANSWERS = ("necessity_support", "concern_mitigation", "plan_specificity")
#: What a rubric's reply is, of a transcript; of a rated turn, its place among the clinician's turns, from 1.
Replies = Mapping[str, Callable[[Received, int], dict[str, Any]]]


# -- a judge that says what it is told to -----------------------------------------------------------


def title_of(request: Received) -> str:
    found = re.search(r"^Title: (.+)$", request.prompt, flags=re.MULTILINE)
    assert found
    return found[1]


def asked_of(request: Received) -> list[int]:
    found = re.search(r"by number: ([\d, ]+)\.", request.prompt)
    assert found
    return [int(each) for each in found[1].split(",")]


def rubric_of(request: Received) -> str:
    return next(name for name in RUBRICS.names() if RUBRICS.load(name).title == title_of(request))


def turn_of(request: Received) -> int:
    found = re.search(r"Rate turn (\d+), the last one shown", request.prompt)
    return int(found[1]) if found else 0


def transcript_of(request: Received, transcripts: Iterable[Transcript]) -> Transcript:
    """Whose the conversation in a prompt is; of prompts without one, whose reference."""
    index = turn_of(request)
    for transcript in transcripts:
        turn = transcript.turns[index]
        if f"[{turn.index}] {turn.role}: {turn.text}\n" in request.prompt:
            return transcript
    return next(each for each in transcripts if str(each.reference.get("diagnosis", "-")) in request.prompt)


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
        **{name: float(name in tuple(shown)) for name in medconceal.FEATURES},
        "intent_probabilities": {name: float(name == intent) for name in medconceal.INTENTS},
        "empathy_strength": 0.5,
    }


def found(*findings: tuple[str, str]) -> Callable[[Received, int], dict[str, Any]]:
    return lambda request, place: {"findings": [{"category": kind, "text": text} for kind, text in findings]}


def pairs(*given: tuple[int, int, str, bool]) -> Callable[[Received, int], dict[str, Any]]:
    return lambda request, place: {
        "pairs": [
            {"reason": "same", "finding": a, "concern": b, "quote": quote, "category_agrees": agrees}
            for a, b, quote, agrees in given
        ]
    }


def run(*arguments: object) -> None:
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    assert not ended.value.code


def judged(folder: Path) -> pl.DataFrame:
    return Run(folder).ratings.filter(pl.col("rater").str.starts_with("judge:"))


def value(ratings: pl.DataFrame, transcript: str, metric: str, replicate: int = 0) -> Any:
    """The value of a transcript, or the reason why there is none."""
    (row,) = ratings.filter(
        pl.col("unit") == "transcript",
        transcript_id=transcript,
        metric=metric,
        replicate=replicate,
    ).iter_rows(named=True)
    return row["value"] if row["error"] is None else row["error"]


def written(folder: Path, transcripts: Iterable[Transcript]) -> Path:
    path = folder / "talks.jsonl"
    path.write_bytes(b"".join(transcript.to_json() + b"\n" for transcript in transcripts))
    return path


# -- MedConceal -------------------------------------------------------------------------------------


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
    for two turns: E = p · (1 − .5^n) with p over .97 is under .5 after one of them and over .72, beyond .7, after two.
    Then the clinician answers: since the reveal 1, 2 and 3 turns have passed at turns 3, 4 and 5, and hits are 4 and 5.

    brisk-heart: one finding, matched; no feature is ever shown, so that E stays under .5 and nothing is revealed.

    careless-sleep: two findings, both matched with one concern; every turn probes for categories.
    """
    talk = {each.id: each for each in talks}

    def turns(request: Received, place: int) -> dict[str, Any]:
        return view(ASKS if place <= 2 else ANSWERS)

    steady, brisk, careless = (talk[name] for name in ("steady-alcohol", "brisk-heart", "careless-sleep"))
    return {
        "steady-alcohol": {
            "finding_extraction": found((BELIEF, "beer is harmless"), (FEAR, "his father"), (MONEY, "cost")),
            "concern_matching": pairs(
                (0, 0, quote(steady, "patient"), True), (1, 1, quote(steady, "clinician"), True)
            ),
            "turn_evaluator": turns,
            "open_question": lambda request, place: {
                "answers": [
                    {"item": index, "reason": "r", "label": "open" if at < 2 else "none"}
                    for at, index in enumerate(asked_of(request))
                ]
            },
        },
        "brisk-heart": {
            "finding_extraction": found((FEAR, "another attack")),
            "concern_matching": pairs((0, 0, quote(brisk, "patient"), False)),
            "turn_evaluator": lambda request, place: view(),
        },
        "careless-sleep": {
            "finding_extraction": found((FEAR, "colleagues"), (FEAR, "the diagnosis")),
            "concern_matching": pairs(
                (0, 0, quote(careless, "patient"), True), (1, 0, quote(careless, "patient"), True)
            ),
            "turn_evaluator": lambda request, place: view(intent="meta_probe"),
        },
    }


@pytest.mark.server
def test_medconceal_in_one_run_is_what_is_known_by_hand(tmp_path: Path) -> None:
    talks = cases()
    path, folder = written(tmp_path, talks), tmp_path / "run"
    with JudgeServer(scripted(talks, replies_to(talks))) as server:
        command = ("score", path, "--suite", "medconceal", "--judge", server.judge, "--out", folder)
        run(*command)
        asked = len(server.received)
        clinician = sum(len(list(talk.of("clinician"))) for talk in talks)
        assert asked == 3 * 9 + clinician, "nine rubrics of the whole, and every clinician turn"
        ratings = judged(folder)
        run(*command)
        assert len(server.received) == asked, "a rerun sends nothing"
        assert ratings.sort(pl.all()).equals(judged(folder).sort(pl.all()))
    expected: dict[str, dict[str, Any]] = {
        "steady-alcohol": {
            "concern_precision": 1 / 3, "concern_recall": 1 / 2, "concern_f1": 2 / 5, "refused_proposals": 1,
            "coarse_precision": 2 / 3, "coarse_recall": 1, "coarse_f1": 4 / 5, "grounded_f1": 2 / 5,
            "concern_category_accuracy": 1, "matched_without_reveal": 0,
            "reveal_rate": 1, "full_reveal": 1, "turns_to_full_reveal": 2, "concern_addressed": 1,
            "turns_to_address": 5, "reveal_to_address_lag": 3, "meta_probe_rate": 0,
            "open_question_ratio": 2 / len(list(talks[0].of("clinician"))), "early_open_question_ratio": 2 / 5,
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
            given = value(ratings, transcript, metric)
            assert given == (wanted if isinstance(wanted, str) else pytest.approx(wanted)), (
                transcript,
                metric,
            )
    style = ("medconceal_empathy", "medconceal_actionability", "values_detected")
    assert all(value(ratings, talk.id, metric) in (0, 1, 2) for talk in talks for metric in style)
    assert set(ratings["rater"]) == {JUDGE}
    table = next(t for t in bedside_tables(folder) if t.name == "concerns")
    measured = {
        (row["metric"], row["level"]): row["value"] for row in table.records if row["raters"] == JUDGE
    }
    # 3 matches of 6 findings and 6 concerns; 2 of 6 concerns revealed; one of three primary concerns addressed.
    for metric, level, wanted in (
        ("concern_precision", "micro", 3 / 6),
        ("concern_recall", "micro", 3 / 6),
        ("concern_f1", "micro", 6 / 12),
        ("concern_f1", "mean", (2 / 5 + 2 / 3 + 1 / 2) / 3),
        ("coarse_precision", "micro", 4 / 6),
        ("coarse_recall", "micro", 4 / 6),
        ("grounded_precision", "micro", 1 / 6),
        ("grounded_recall", "micro", 1 / 2),
        ("concern_category_accuracy", "micro", 2 / 3),
        ("matched_without_reveal", "mean", 2 / 3),
        ("reveal_rate", "micro", 2 / 6),
        ("concern_addressed", "mean", 1 / 3),
        ("turns_per_revealed_concern", "micro", clinician / 2),
    ):
        assert measured[metric, level] == pytest.approx(wanted), (metric, level)
    # What waits for the judge's labels is not listed as missing beside what the judge says.
    assert not set(Run(folder).ratings["rater"]) & {"algorithm:hidden_concerns@1"}
    afterwards = ratings.filter(pl.col("metric") == "open_after_address", pl.col("value").is_not_null())
    assert set(afterwards["reason"]) == {"open questions by the rater's own labels"}


def bedside_tables(folder: Path) -> Any:
    from bedside.analysis.ratings_view import open_ratings_view
    from bedside.reports.build import build_tables

    return build_tables(open_ratings_view(folder))


@pytest.mark.server
def test_what_fails_on_the_way_is_missing_with_its_reason_and_is_gone_on_from(tmp_path: Path) -> None:
    talks = cases()
    steady = next(talk for talk in talks if talk.id == "steady-alcohol")
    third = [turn.index for turn in steady.of("clinician")][2]
    path, folder = written(tmp_path, talks), tmp_path / "run"
    well = scripted(talks, replies_to(talks))
    mended = False

    def script(request: Received, number: int) -> Action:
        name, transcript = rubric_of(request), transcript_of(request, talks).id
        if transcript == "careless-sleep" and name == "finding_extraction":
            return Action(text="I would rather not.")
        if not mended and transcript == "brisk-heart" and name == "concern_matching":
            return Action(status=400)
        if not mended and transcript == "steady-alcohol" and turn_of(request) == third:
            return Action(status=400)
        return well(request, number)

    with JudgeServer(script) as server:
        command = ("score", path, "--suite", "medconceal", "--judge", server.judge, "--out", folder)
        run(*command)
        ratings = judged(folder)
        first = len(server.received)
        reason = value(ratings, "steady-alcohol", "reveal_rate")
        assert reason.startswith(f"turn_evaluator, turn {third}: ")
        assert value(ratings, "steady-alcohol", "grounded_f1") == reason
        assert value(ratings, "steady-alcohol", "concern_f1") == pytest.approx(2 / 5)
        assert value(ratings, "brisk-heart", "concern_f1").startswith("concern_matching: ")
        assert value(ratings, "brisk-heart", "coarse_f1") == pytest.approx(2 / 3)
        refused = value(ratings, "careless-sleep", "coarse_f1")
        assert refused.startswith("finding_extraction: no usable reply in 3: ")
        assert value(ratings, "careless-sleep", "concern_f1") == refused
        assert value(ratings, "careless-sleep", "concern_matching") == refused
        assert value(ratings, "careless-sleep", "meta_probe_rate") == 1
        entry = Run(folder).manifest["scorings"][-1]["judges"][JUDGE]
        assert not entry["complete"]
        mended = True
        run(*command)
        assert len(server.received) == first + 2, "only what failed is asked again"
        ratings = judged(folder)
        assert value(ratings, "steady-alcohol", "reveal_rate") == 1
        assert value(ratings, "brisk-heart", "concern_f1") == pytest.approx(2 / 3)
        assert value(ratings, "careless-sleep", "concern_f1") == refused
        assert Run(folder).manifest["scorings"][-1]["judges"][JUDGE]["complete"]


@pytest.mark.server
def test_the_limit_of_calls_is_that_of_all_stages_together(tmp_path: Path) -> None:
    talks = cases()
    path, folder = written(tmp_path, talks), tmp_path / "run"
    rubrics = "finding_extraction,concern_matching"
    with JudgeServer(scripted(talks, replies_to(talks))) as server:
        command = ("score", path, "--rubrics", rubrics, "--judge", server.judge, "--out", folder)
        run(*command, "--max-calls", "4", "--max-concurrency", "1")
        assert len(server.received) == 4
        ratings = judged(folder)
        reasons = [value(ratings, talk.id, "concern_f1") for talk in talks]
        assert sum(isinstance(reason, float) for reason in reasons) == 1
        assert reasons.count("concern_matching: not asked: the limit of 4 calls was reached") == 2
        run(*command, "--max-calls", "2")
        assert len(server.received) == 6
        assert all(isinstance(value(judged(folder), talk.id, "concern_f1"), float) for talk in talks)
    assert set(judged(folder)["metric"]).isdisjoint({"reveal_rate", "grounded_f1"}), (
        "what wasn't asked isn't rated"
    )


@pytest.mark.server
def test_each_pass_matches_its_own_findings(tmp_path: Path) -> None:
    talks = cases()
    path, folder = written(tmp_path, talks), tmp_path / "run"
    replies = replies_to(talks)
    one = found((BELIEF, "beer is harmless"))
    several = replies["steady-alcohol"]["finding_extraction"]
    changed: Replies = {
        **replies["steady-alcohol"],
        # The seed, sent where the temperature isn't 0, is the number of the pass.
        "finding_extraction": lambda request, place: (one if request.body["seed"] else several)(
            request, place
        ),
        "concern_matching": lambda request, place: pairs((0, 0, quote(talk, "patient"), True))(
            request, place
        ),
    }
    talk = next(each for each in talks if each.id == "steady-alcohol")
    with JudgeServer(scripted(talks, {**replies, "steady-alcohol": changed})) as server:
        command = (
            "score", path, "--rubrics", "finding_extraction,concern_matching", "--judge", server.judge,
            "--passes", "2", "--temperature", "1", "--out", folder,
        )  # fmt: skip
        run(*command)
        assert len(server.received) == 3 * 2 * 2, "equal findings are matched in each pass anew"
        run(*command)
        assert len(server.received) == 3 * 2 * 2
    ratings = judged(folder)
    assert value(ratings, "steady-alcohol", "concern_precision", 0) == pytest.approx(1 / 3)
    assert value(ratings, "steady-alcohol", "concern_precision", 1) == 1
    assert value(ratings, "brisk-heart", "concern_f1", 0) == value(ratings, "brisk-heart", "concern_f1", 1)


@pytest.mark.server
def test_a_dry_run_estimates_what_waits_and_is_exact_afterwards(tmp_path: Path) -> None:
    talks = cases()
    path, folder = written(tmp_path, talks), tmp_path / "run"
    work = JudgingWork(tuple(RUBRICS.load(name) for name in SUITES.load("medconceal").rubrics))
    with JudgeServer(scripted(talks, replies_to(talks))) as server:
        before = {plan.rubric: plan for plan in preview_judging(folder, [path], [server.judge], work)}
        assert not server.received
        assert before["concern_matching (estimated)"].calls == 3
        assert before["concern_matching (estimated)"].input_tokens > 3 * 500
        assert "concern_matching" not in before
        run("score", path, "--rubrics", "finding_extraction", "--judge", server.judge, "--out", folder)
        between = {plan.rubric: plan for plan in preview_judging(folder, [path], [server.judge], work)}
        assert between["finding_extraction"].stored == between["concern_matching"].calls == 3
        sent = len(server.received)
        run("score", path, "--suite", "medconceal", "--judge", server.judge, "--out", folder)
        assert len(server.received) - sent == sum(plan.calls for plan in between.values())
        after = preview_judging(folder, [path], [server.judge], work)
        assert sum(plan.calls for plan in after) == 0
        twice = preview_judging(folder, [path], [server.judge], work, settings=JudgeSettings(passes=2))
        assert {plan.rubric: plan.calls for plan in twice}["concern_matching (estimated)"] == 3


# -- the worked examples of the metric families, told by a judge ------------------------------------


def answer(**parts: Any) -> JudgeAnswer:
    return JudgeAnswer("transcript", None, {"reason": "r", **parts}, None)


def each_of(entries: Mapping[int, Mapping[str, Any]]) -> JudgeAnswer:
    listed = [{"item": number, "reason": "r", **parts} for number, parts in entries.items()]
    return JudgeAnswer("transcript", tuple(entries), {"answers": listed}, None)


def as_said_by_a_judge(transcript: Transcript) -> dict[str, list[JudgeAnswer]]:
    """What a judge must say for the labels that the worked example of MedConceal has."""
    labels = medconceal.rater_labels(transcript, "human:anna")
    ids = [concern.id for concern in medconceal.concerns_of(transcript)]
    said: dict[str, list[JudgeAnswer]] = {
        "finding_extraction": [answer(findings=[each.model_dump() for each in labels.findings or ()])],
        "concern_matching": [
            answer(
                pairs=[
                    {"reason": "r", "finding": each.finding, "concern": ids.index(each.concern),
                     "quote": each.quote, "category_agrees": True}
                    for each in labels.matches or ()
                ]
            )
        ],
        "turn_evaluator": [],
    }  # fmt: skip
    for index, turn in labels.turns.items():
        given = {**view(), **turn.z.model_dump(), "reason": "r"}
        said["turn_evaluator"].append(JudgeAnswer(f"turn:{index}", None, given, None))
    return said


def derived(name: str, transcript: Transcript, said: Mapping[str, list[JudgeAnswer]]) -> dict[str, Any]:
    """Metric (of a turn with its index) → value, or the reason why there is none."""
    pipeline = PIPELINES.load(name)
    settings = FAMILIES.load(pipeline.family).settings(pipeline.settings)
    values = list(pipeline.values(transcript, JUDGE, said, pipeline.metrics(said), settings))
    assert {value.rater for value in values} <= {JUDGE}
    return {
        each.metric if each.turn is None else f"{each.metric}:{each.turn}": each.value
        if each.error is None
        else each.error
        for each in values
    }


def worked(family: str) -> tuple[Transcript, dict[str, float]]:
    """The transcript of a family's worked example, and the values of its metrics."""
    metrics = FAMILIES.load(family).metrics
    example = metrics[0].examples[0]
    values = {}
    for metric in metrics:
        given = metric.examples[0]
        if given.turns == example.turns and given.transcript == example.transcript and not given.parameters:
            values[metric.name if given.turn is None else f"{metric.name}:{given.turn}"] = given.value
    return conversation(*example.turns, **example.transcript, language="en"), values


def test_the_worked_example_of_medconceal_comes_out_of_a_judges_answers() -> None:
    transcript, expected = worked("hidden_concerns")
    bare = replace(
        transcript,
        turns=tuple(replace(turn, meta={}) for turn in transcript.turns),
        reference={"concerns": transcript.reference["concerns"]},
    )
    made = derived("medconceal", bare, as_said_by_a_judge(transcript))
    assert len(expected) > 25
    for metric, wanted in expected.items():
        assert made[metric] == pytest.approx(wanted), metric
    assert derived("medconceal", transcript, as_said_by_a_judge(transcript)) == made, (
        "others' labels don't count"
    )


def note_case() -> tuple[Transcript, dict[str, list[JudgeAnswer]], dict[str, float]]:
    """The worked example of Note2Chat, what a judge must say of it, and its values."""
    metrics = FAMILIES.load("history_taking").metrics
    example = next(metric.examples[0] for metric in metrics if metric.name == "history_recall")
    labels = example.transcript["reference"]["note2chat"]["human:anna"]
    replies = {
        index: turn[2]["note2chat"]["human:anna"] for index, turn in enumerate(example.turns) if len(turn) > 2
    }
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
    said = {
        "finding_check": [
            each_of(
                {
                    n: {"message": f["message"], "opening": f.get("opening", False)}
                    for n, f in numbered.items()
                }
            )
        ],
        "finding_category": [each_of({n: {"label": f["categories"][0]} for n, f in numbered.items()})],
        "diagnosis_match": [answer(candidate=labels["diagnosis_rank"])],
        "information_control": [
            each_of({0: {"score": 1}} | {n: {"score": r["only_what_was_asked"]} for n, r in replies.items()})
        ],
        "factual_conflict": [
            each_of({0: {"score": 0}} | {n: {"score": r["conflict"]} for n, r in replies.items()})
        ],
    }
    expected = {}
    for metric in metrics:
        given = metric.examples[0]
        needs = PIPELINES.load("note2chat").needs(metric)
        if needs is not None and given.value is not None:
            expected[metric.name if given.turn is None else f"{metric.name}:{given.turn}"] = given.value
    return transcript, said, expected


def test_the_worked_example_of_note2chat_comes_out_of_a_judges_answers() -> None:
    transcript, said, expected = note_case()
    made = derived("note2chat", transcript, said)
    assert len(expected) > 15
    for metric, wanted in expected.items():
        assert made[metric] == pytest.approx(wanted), metric


@pytest.mark.server
def test_note2chat_in_one_run(tmp_path: Path) -> None:
    transcript, said, expected = note_case()
    talk = replace(transcript, id="case", system="one")
    path, folder = written(tmp_path, [talk]), tmp_path / "run"

    def script(request: Received, number: int) -> Action:
        given = said[rubric_of(request)][0].answer
        return Action(text=json.dumps(given))

    with JudgeServer(script) as server:
        command = ("score", path, "--suite", "note2chat", "--judge", server.judge, "--out", folder)
        run(*command)
        assert len(server.received) == 5
        run(*command)
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


# -- what can go wrong ------------------------------------------------------------------------------


def failed(unit: str = "transcript", error: str = "as scripted") -> JudgeAnswer:
    return JudgeAnswer(unit, None, None, error)


@pytest.mark.parametrize(
    ("rubric", "lacking", "kept"),
    [
        ("finding_extraction", ("coarse_f1", "concern_f1", "grounded_f1"), ("reveal_rate", "gold_concerns")),
        ("concern_matching", ("concern_f1", "matched_without_reveal"), ("coarse_f1", "reveal_rate")),
        ("turn_evaluator", ("reveal_rate", "blocked_turns", "grounded_f1"), ("coarse_f1", "concern_f1")),
    ],
)
def test_a_lacking_answer_of_medconceal_is_lacking_where_it_is_needed(
    rubric: str, lacking: tuple[str, ...], kept: tuple[str, ...]
) -> None:
    transcript, expected = worked("hidden_concerns")
    said = as_said_by_a_judge(transcript)
    said[rubric] = [*said[rubric][:-1], failed()]
    made = derived("medconceal", transcript, said)
    assert {made[metric] for metric in lacking} == {f"{rubric}: as scripted"}
    for metric in kept:
        assert made[metric] == pytest.approx(expected[metric])


@pytest.mark.parametrize(
    ("rubric", "lacking", "kept"),
    [
        ("finding_check", ("history_f1", "recall_site", "turn_reward"), ("diagnosis_top_3",)),
        (
            "finding_category",
            ("recall_site", "recall_timing"),
            ("history_f1", "diagnosis_top_3", "turn_reward:1"),
        ),
        (
            "diagnosis_match",
            ("diagnosis_rank", "diagnosis_top_1", "turn_reward:9"),
            ("history_f1", "turn_reward:1"),
        ),
        ("information_control", ("information_control_rate",), ("factual_conflict_rate", "history_f1")),
        ("factual_conflict", ("factual_conflict_rate",), ("information_control_rate", "history_f1")),
    ],
)
def test_a_lacking_answer_of_note2chat_is_lacking_where_it_is_needed(
    rubric: str, lacking: tuple[str, ...], kept: tuple[str, ...]
) -> None:
    transcript, said, expected = note_case()
    made = derived("note2chat", transcript, {**said, rubric: [*said[rubric], failed()]})
    assert {made[metric] for metric in lacking} == {f"{rubric}: as scripted"}
    for metric in kept:
        assert made[metric] == pytest.approx(expected[metric])


def test_nothing_submitted_is_arithmetic_and_nothing_to_ask_about() -> None:
    transcript, _ = worked("hidden_concerns")
    said = {**as_said_by_a_judge(transcript), "finding_extraction": [answer(findings=[])]}
    (later,) = later_questions(pipelines_for(said), said).values()
    with pytest.raises(DataError, match="there is nothing to match"):
        later.find(transcript, said)
    said["concern_matching"] = [failed(error="no finding was submitted: there is nothing to match")]
    made = derived("medconceal", transcript, said)
    assert made["concern_precision"] == "no finding was submitted"
    assert (made["concern_recall"], made["concern_f1"]) == (0, 0)


def test_what_the_case_says_goes_before_what_the_judge_says() -> None:
    transcript, _ = worked("hidden_concerns")
    said = as_said_by_a_judge(transcript)
    own = [{"category": FEAR, "text": "Fears becoming dependent"}]
    submitted = replace(transcript, reference={**transcript.reference, "submitted_findings": own})
    (later,) = later_questions(pipelines_for(said), said).values()
    assert later.find(submitted, said) == own
    said_by_patient = "afraid that I would get hooked"
    pair = {"reason": "r", "finding": 0, "concern": 0, "quote": said_by_patient, "category_agrees": True}
    said["concern_matching"] = [answer(pairs=[pair])]
    assert derived("medconceal", submitted, said)["concern_precision"] == 1
    alone = {name: said[name] for name in ("concern_matching",)}
    assert derived("medconceal", submitted, alone)["concern_recall"] == 1 / 2, "no extraction is needed"
    bad = replace(transcript, reference={**transcript.reference, "submitted_findings": ["hooked"]})
    assert derived("medconceal", bad, said)["coarse_f1"].startswith(
        "the reference's submitted_findings can't be read"
    )

    case, told, expected = note_case()
    texts = case.reference["findings"]
    findings = [{"text": text, "categories": ["site"]} for text in texts]
    sorted_out = replace(case, reference={**case.reference, "findings": findings})
    made = derived("note2chat", sorted_out, {**told, "finding_category": [failed()]})
    assert made["recall_site"] == pytest.approx(expected["history_recall"])
    wrong = replace(
        case, reference={**case.reference, "findings": [{"text": t, "categories": ["x"]} for t in texts]}
    )
    assert made["history_f1"] == pytest.approx(2 / 3)
    assert derived("note2chat", wrong, told)["history_f1"].startswith(
        "the reference's findings can't be read"
    )


def test_no_concerns_and_no_questions_are_missing_with_the_reason() -> None:
    transcript, _ = worked("hidden_concerns")
    said = as_said_by_a_judge(transcript)
    without = replace(transcript, reference={})
    said["concern_matching"] = [failed(error="the transcript's reference has no concerns")]
    made = derived("medconceal", without, said)
    assert made["concern_f1"] == "concern_matching: the transcript's reference has no concerns"
    assert made["reveal_rate"] == "no hidden concerns in the reference"
    assert made["blocked_turns"] == 0
    ratios = derived("medconceal_questions", transcript, {"open_question": [failed()]})
    assert ratios == dict.fromkeys(
        ("open_question_ratio", "early_open_question_ratio"), "open_question: as scripted"
    )


def test_pipelines_are_chosen_by_what_is_asked() -> None:
    def names(*asked: str) -> list[str]:
        return [pipeline.name for pipeline in pipelines_for(asked)]

    assert names("medconceal_empathy", "values_detected") == []
    assert names("turn_evaluator") == ["medconceal"]
    assert names("open_question", "factual_conflict") == ["medconceal_questions", "note2chat"]
    asked = SUITES.load("medconceal").rubrics
    assert list(later_questions(pipelines_for(asked), asked)) == ["concern_matching"]
    assert later_questions(pipelines_for(["concern_matching"]), ["concern_matching"]) == {}, (
        "it has its own input then"
    )
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
    assert PIPELINES.load("medconceal").rubrics | PIPELINES.load("medconceal_questions").rubrics <= set(
        SUITES.load("medconceal").rubrics
    )
    assert PIPELINES.load("note2chat").rubrics == set(SUITES.load("note2chat").rubrics)
    assert set(note2chat.CATEGORIES) == {label.label for label in RUBRICS.load("finding_category").labels}
    (findings,) = RUBRICS.load("finding_extraction").answer
    assert [label.label for label in findings.items[0].labels] == list(medconceal.CATEGORIES)


@pytest.fixture(autouse=True)
def _quiet(capsys: pytest.CaptureFixture[str]) -> Iterator[None]:
    yield
    capsys.readouterr()

"""What comes with the interview, and that its transcripts are scored as they are."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml

import bedside
from bedside.api.simulating import simulate
from bedside.cli import main
from bedside.judges.prompt import Conversation, NotAskable, Question
from bedside.judges.rubrics.rubric_files import RUBRICS
from bedside.metrics import FAMILIES
from bedside.metrics.protocols.note2chat import history as note2chat_history, labels as note2chat_labels
from bedside.metrics.protocols.note2chat.labels import ClinicalFinding, HistoryLabels
from bedside.ratings.run import Run
from bedside.ratings.suites import SUITES
from bedside.simulation.simulators.case import Case
from bedside.simulation.simulators.case_files import leaks, read_cases
from bedside.simulation.simulators.contract import UnusableConversationError
from bedside.simulation.simulators.note2chat import SIMULATOR
from bedside.simulation.simulators.note2chat.preparation import DischargeNote, prepared_case
from bedside.simulation.simulators.scripts import read_script
from bedside.transcripts.transcript import Transcript, Turn
from tests.judges.llm.server import Action, JudgeServer, Received, fitting
from tests.metrics.protocols.summaries import history_summary
from tests.simulation.simulators.playing import (
    Played,
    by_rules,
    by_script,
    check_recorded,
    play,
    run_exchange,
    transcript_of,
)

CASES = {case.id: case for _, case in read_cases(SIMULATOR.cases)}
NOTES = [
    DischargeNote.model_validate(note)
    for note in yaml.safe_load(SIMULATOR.cases.with_name("notes.yaml").read_text(encoding="utf-8"))
]


def scripted(name: str, case: Case, **more: Any) -> Played:
    """A bundled clinician with the toy patient."""
    return play(SIMULATOR, case, by_script(SIMULATOR, name), **more)


# -- notes and cases --------------------------------------------------------------------------------


def test_six_notes_of_three_conditions_and_five_cases() -> None:
    assert len(NOTES) == 6
    assert sorted(note.diagnosis for note in NOTES) == [
        "Deep vein thrombosis", "Deep vein thrombosis", "Heart failure", "Heart failure", "Pneumonia", "Pneumonia",
    ]  # fmt: skip
    assert list(CASES) == [note.id for note in NOTES[:-1]]
    assert all("invented" in note.origin for note in NOTES)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_case_is_its_note_prepared(case: Case) -> None:
    (note,) = (note for note in NOTES if note.id == case.id)
    assert case.note is not None
    assert (case.note.text, case.note.chief_complaint) == (note.history, note.chief_complaint)
    prepared, _, _ = run_exchange(prepared_case(note), by_rules(SIMULATOR))
    assert prepared.note is not None
    assert prepared.note.vignette == case.note.vignette
    # No diagnosis stands in the open; one finding stands in one opening, which is what that case is for.
    remarks = [remark for remark in leaks(case) if "diagnosis" in remark.text]
    assert not remarks


def test_one_case_has_negatives_only_and_one_a_finding_in_its_opening() -> None:
    negatives = CASES["leg-negatives"].note
    assert negatives is not None
    assert all(any(word in f.text for word in (" no ", "n't")) for f in negatives.findings)
    opening = CASES["cough-week"].note
    assert opening is not None
    assert "week" in opening.opening
    assert "week" in opening.findings[0].text


def test_the_note_that_begins_with_treatment_is_refused() -> None:
    with pytest.raises(UnusableConversationError, match="no history before treatment"):
        run_exchange(prepared_case(NOTES[-1]), by_rules(SIMULATOR))


# -- clinicians -------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
@pytest.mark.parametrize("options", [{}, {"decision": "evaluator"}, {"brief": "tuned"}], ids=str)
def test_scripted_clinicians_end_as_they_should(case: Case, options: dict[str, str]) -> None:
    for name in ("good", "brisk", "checklist"):
        ended = scripted(name, case, options=options).ended
        assert (ended.stop, len(ended.reference["ranked_diagnoses"])) == ("diagnosis", 5), name
    assert scripted("silent", case, options=options).ended.stop == "clinician empty"
    ended = play(SIMULATOR, case, by_rules(SIMULATOR), options=options).ended
    assert (ended.stop, ended.completed) == ("diagnosis", True)


def test_a_recorded_interview_is_played_to_its_end() -> None:
    recording = read_script("recorded", SIMULATOR.scripts).script
    played = play(SIMULATOR, CASES["cough-smoker"], recording.reply)
    ended = played.ended
    check_recorded(SIMULATOR, played)
    assert (ended.stop, len(ended.turns)) == ("diagnosis", 18)
    assert ended.reference["ranked_diagnoses"][0] == "pneumonia"
    assert ended.turns[3].meta["thought"].startswith("Cough and fever")
    assert ended.turns[4].text == "Yes, yellow stuff comes up."
    assert [note2chat_labels.reply_kind(turn.text) for turn in ended.turns[12:16:2]] == ["dont_know", "already_asked"]


# -- scoring ----------------------------------------------------------------------------------------


def transcript(played: Played, case: Case) -> Transcript:
    reference = {**played.ended.reference, "simulation": {}}
    about = {"system": "a", "case_id": case.id, "language": case.language}
    return transcript_of(played, case.id, **about, reference=reference)


def lexical_labels(talk: Transcript) -> HistoryLabels:
    """What the toy patient, that answers in the note's sentences, conveys: a finding by its number's sentence."""
    note = CASES[talk.id].note
    assert note is not None
    words = [set(turn.text.casefold().split()) for turn in talk.turns]

    def conveying(finding: str) -> Iterator[int]:
        own = set(finding.casefold().split())
        return (turn.index for turn in talk.of("patient") if len(own & words[turn.index]) >= 0.6 * len(own))

    findings = tuple(
        ClinicalFinding.model_validate({"text": finding.text, "message": max(conveying(finding.text), default=None)})
        for finding in note.findings
    )
    ranked = [name.casefold() for name in talk.reference["ranked_diagnoses"]]
    truth = str(talk.reference["diagnosis"]).casefold()
    rank = ranked.index(truth) if truth in ranked else None
    labels = {"id": talk.id, "rater": "human:test", "findings": findings, "diagnosis_rank": rank}
    return HistoryLabels.model_validate(labels)


@pytest.mark.parametrize("name", ["good", "brisk", "checklist"])
def test_every_rubric_of_the_suite_has_what_it_needs(name: str) -> None:
    case = CASES["cough-smoker"]
    talk = transcript(scripted(name, case), case)
    for rubric in SUITES.load("note2chat").rubrics:
        prompts = Question(RUBRICS.load(rubric)).prompts(Conversation(talk))
        assert not [prompt for prompt in prompts if isinstance(prompt, NotAskable)], rubric


def test_a_clinician_that_asks_well_elicits_more_than_one_that_hurries() -> None:
    recall = {}
    for name in ("good", "brisk", "silent"):
        cases = []
        for case in CASES.values():
            talk = transcript(scripted(name, case), case)
            measured = note2chat_history.history(talk, lexical_labels(talk))
            assert not isinstance(measured, str), measured
            cases.append(measured)
        recall[name] = history_summary(cases).recall.value
    assert recall["good"] is not None
    assert recall["brisk"] is not None
    assert recall["good"] > 2 * recall["brisk"] > 0
    # A clinician that says nothing elicits nothing: that is a result, and no missing value.
    assert recall["silent"] == 0


@pytest.mark.slow
def test_a_folder_of_conversations_is_made_and_scored_without_conversion(tmp_path: Path) -> None:
    talks = tmp_path / "talks"
    simulate(None, protocol="note2chat", out=talks, clinician=["script:good", "script:silent"], sample=2, seed=1)
    bedside.score([talks / "transcripts.jsonl"], suite="note2chat", out=tmp_path / "run")
    ratings = Run(tmp_path / "run").ratings.filter(unit="transcript", metric="history_questions")
    counted = dict(zip(ratings["transcript_id"], ratings["value"], strict=True))
    assert {name.split("/")[1]: questions for name, questions in counted.items()} == {
        "script:good": 11.0,
        "script:silent": 0.0,
    }


def test_the_patients_own_sentences_are_counted_in_any_language() -> None:
    sentences = {"dont_know": "抱歉，我不知道。", "already_asked": "Beats me, again."}
    texts = ["我胸口疼。", "多久了？", "抱歉，我不知道", "哪里？", "两天了。", "多久了？", "beats me,  again"]
    turns = tuple(Turn(index, "clinician" if index % 2 else "patient", "x", text) for index, text in enumerate(texts))
    talk = Transcript("t", turns, language="zh", reference={"patient_sentences": sentences})
    shares = [share.value for share in note2chat_history.dont_know_and_repeats(talk)]
    assert shares == [1 / 3, 1 / 3]
    values = FAMILIES.load("history_taking").compute(talk, frozenset({"dont_know_share", "already_asked_share"}))
    assert {value.metric: value.value for value in values} == {"dont_know_share": 1 / 3, "already_asked_share": 1 / 3}


# -- with the whole machinery -----------------------------------------------------------------------


def wordy(payload: Mapping[str, Any]) -> str:
    """An agent that replies words to whatever it is asked."""
    said = sum(message["role"] == "assistant" for message in payload["messages"])
    return (
        f"Question {said} about {'pain sleep food work home'.split()[said]}?"
        if said < 5
        else "I think that it is Pneumonia."
    )


def test_an_agent_that_knows_only_words_is_never_searched_for_a_diagnosis(tmp_path: Path) -> None:
    """Where it can't say itself what its words are, it has no diagnosis, unless the evaluator reads them."""
    case = CASES["cough-smoker"]
    made = simulate(case, protocol="note2chat", out=tmp_path / "own", clinician=wordy)
    (talk,) = made.transcripts()
    flags = talk.reference["simulation"]["flags"]
    assert talk.reference["simulation"]["stop"] == "clinician repeats"
    assert flags["clinician: decision can't be read"] == 9
    # Its own words are put to it again: that is no leak of what the case hides.
    assert "hidden in a request" not in flags
    assert talk.reference["ranked_diagnoses"] == []

    def reading(payload: Mapping[str, Any]) -> dict[str, Any]:
        final = "Pneumonia" in payload["material"]["message"]
        return {"diagnoses": ["Pneumonia"] if final else None}

    made = simulate(
        case,
        protocol="note2chat",
        out=tmp_path / "read",
        clinician=wordy,
        evaluator=reading,
        options={"decision": "evaluator"},
    )
    (talk,) = made.transcripts()
    assert talk.reference["simulation"]["stop"] == "diagnosis"
    assert talk.reference["ranked_diagnoses"] == ["Pneumonia"]
    assert len(talk.turns) == 12
    assert talk.reference["simulation"]["flags"] == {"clinician: not 5 diagnoses": 1}


def sparing(request: Received, number: int) -> Action:
    """A judge for which no candidate is the diagnosis, and the first reply conveys the first finding."""
    reply = json.loads(fitting(request))
    if "candidate" in reply:
        reply["candidate"] = None
    for entry in reply.get("answers", []):
        if "opening" in entry:
            answered = "[2] patient: " in request.prompt and entry["item"] == 0
            entry |= {"opening": False, "message": 2 if answered else None}
    return Action(text=json.dumps(reply))


@pytest.mark.server
def test_a_judge_gives_every_metric_of_the_suite_a_value(tmp_path: Path) -> None:
    talks, run = tmp_path / "talks", tmp_path / "run"
    clinicians = ["script:good", "script:brisk", "script:silent"]
    simulate(CASES["cough-smoker"], protocol="note2chat", out=talks, clinician=clinicians)
    with JudgeServer(sparing) as server, pytest.raises(SystemExit) as ended:
        main(["score", str(talks), "--suite", "note2chat", "--judge", server.judge, "--out", str(run)])
    assert not ended.value.code
    ratings = Run(run).ratings.filter(pl.col("rater").str.starts_with("judge:"))

    def values(metric: str) -> dict[str, float]:
        rows = ratings.filter(metric=metric).select("transcript_id", "value").iter_rows()
        return {name.split("/")[1].removeprefix("script:"): value for name, value in rows}

    # Nine findings, one of them conveyed; eleven questions and two; a clinician that says nothing gets 0, and a place.
    assert values("history_recall") == pytest.approx({"good": 1 / 9, "brisk": 1 / 9, "silent": 0})
    assert values("history_precision") == pytest.approx({"good": 1 / 11, "brisk": 1 / 2, "silent": 0})
    assert values("diagnosis_top_5") == {"good": 0, "brisk": 0, "silent": 0}

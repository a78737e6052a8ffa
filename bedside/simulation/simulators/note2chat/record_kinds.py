"""The kinds of records that training data are: what each is made of, and what is written.

A kind is a generator of calls like a simulator's controller; :mod:`bedside.simulation.record_making` runs them all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import orjson

from bedside.core.errors import InputError
from bedside.metrics.protocols.note2chat.turn_candidates import CandidateInterview, TurnReward
from bedside.simulation.simulators.calls import Exchange, Line, together
from bedside.simulation.simulators.case import Case
from bedside.simulation.simulators.contract import MadeRecord, UnusableConversationError
from bedside.simulation.simulators.note2chat.finding_places import FindingPlace, diagnosis_rank, finding_places
from bedside.simulation.simulators.note2chat.guided_dialogue import guided_dialogue
from bedside.simulation.simulators.note2chat.interview_candidates import CandidateMaterial, interview_candidates
from bedside.simulation.simulators.note2chat.preparation import DischargeNote, prepared_case
from bedside.simulation.simulators.note2chat.training_records import doctor_states, form_problem, message_thoughts
from bedside.simulation.simulators.note2chat.vignette import SENTENCES, FixedSentences
from bedside.transcripts.transcript import Transcript, Turn

#: The system of interviews that were written and not had.
NOTE_GUIDED = "note-guided"


def _of_talk(
    talk: Transcript, states: Sequence[Mapping[str, Any]] = (), flags: Mapping[str, int] | None = None
) -> MadeRecord:
    return MadeRecord(orjson.loads(talk.to_json()), tuple(states), _counted(flags or {}))


def _counted(flags: Mapping[str, int]) -> dict[str, int]:
    return {name: count for name, count in flags.items() if count}


def case_record(note: DischargeNote) -> Exchange[MadeRecord]:
    """The case of a note."""
    case = yield from prepared_case(note)
    unanswered = sum(len(finding.unanswered) for finding in case.note.findings) if case.note else 0
    content = case.model_dump(mode="json", exclude_defaults=True)
    return MadeRecord(content, flags=_counted({"question on a finding not answered": unanswered}))


def dialogue_record(case: Case, rounds: int, rater: str, made_by: Mapping[str, Any]) -> Exchange[MadeRecord]:
    """An interview written from a case's note, with labels of its findings and its diagnosis's rank.

    Args:
        case: it has a note with vignette and findings, and its diagnosis.
        rounds: rounds of the critic at most.
        rater: who gives the labels.
        made_by: who makes it, as the transcript holds it.
    """
    written = yield from guided_dialogue(case, rounds=rounds)
    note = case.note
    reference = {
        "findings": [
            {"text": finding.text, "categories": list(finding.categories)}
            for finding in (note.findings if note else ())
        ],
        "diagnosis": case.hidden.diagnosis,
        "note": note.vignette if note else "",
        "origin": case.origin,
        "licence": case.licence,
        "ranked_diagnoses": list(written.diagnoses),
        "note2chat": {rater: place_labels(case, written.places, written.rank)},
        "simulation": {**made_by, "case": case.digest(), "stop": "written", "flags": written.flags},
    }
    transcript = Transcript(
        f"note2chat/{NOTE_GUIDED}/{case.id}",
        tuple(Turn(number, line.role, line.role, line.text, {}) for number, line in enumerate(written.lines)),
        NOTE_GUIDED,
        case.id,
        case.language,
        {**case.factors, "synthetic": True, "completed": True},
        reference,
    )
    return _of_talk(transcript, written.states, written.flags)


def checked_record(talk: Transcript, case: Case, rater: str) -> Exchange[MadeRecord]:
    """An interview with labels of where it conveys the findings of its case, and of the diagnosis's rank."""
    findings = [finding.text for finding in (case.note.findings if case.note else ())]
    places, rank = yield from together(
        finding_places(spoken_lines(talk), findings, case.language),
        diagnosis_rank(case.hidden.diagnosis or "", talk.reference.get("ranked_diagnoses", ()), case.language),
    )
    reference = {
        **talk.reference,
        "origin": case.origin,
        "licence": case.licence,
        "note2chat": {rater: place_labels(case, places, rank)},
    }
    return _of_talk(replace(talk, reference=reference))


def thought_record(talk: Transcript) -> Exchange[MadeRecord]:
    """An interview with what its doctor would note and think before each message, in the turns' ``meta``."""
    thoughts = yield from message_thoughts(spoken_lines(talk), talk.language or "en")
    turns = list(talk.turns)
    for number, thought in enumerate(thoughts):
        turn = turns[2 * number + 1]
        meta = {key: value for key, value in turn.meta.items() if key != "thought"}
        if thought is not None:
            written = {"summary": thought.summary, "plan": thought.plan}
            meta["thought"] = orjson.dumps(written, option=orjson.OPT_INDENT_2).decode()
        turns[2 * number + 1] = replace(turn, meta=meta)
    missing = sum(thought is None for thought in thoughts)
    return _of_talk(replace(talk, turns=tuple(turns)), flags={"thought missing": missing})


def candidate_record(
    talk: Transcript, material: CandidateMaterial, reward: TurnReward, number: int
) -> Exchange[MadeRecord]:
    """Candidates for each message of an interview's doctor, with their rewards.

    Args:
        talk: the interview.
        material: of it, see :func:`candidate_material`.
        reward: what asking candidates are rewarded for.
        number: candidates of each message.
    """
    problem = form_problem(talk)
    if problem is not None:
        raise UnusableConversationError("material", problem)
    turns = yield from interview_candidates(material, number=number, reward=reward)
    interview = CandidateInterview(
        id=talk.id,
        case=talk.case_id or talk.id,
        language=material.language,
        reward=reward,
        generated_recall=material.generated_recall,
        origin=str(talk.reference.get("origin") or ""),
        licence=str(talk.reference.get("licence") or ""),
        turns=turns,
    )
    candidates = [candidate for turn in turns for candidate in turn.candidates]
    flags = Counter(f"candidate without reward: {entry.missing}" for entry in candidates if entry.missing)
    flags.update({"turn without a thought before it": len(material.lines) // 2 - len(turns)})
    return MadeRecord(interview.model_dump(mode="json"), flags=_counted(flags))


# -- What they are made of --------------------------------------------------------------------------------


def candidate_material(talk: Transcript, recall: float | None) -> CandidateMaterial:
    """What an interview's candidates are made of.

    Raises:
        InputError: the interview doesn't hold its note.
    """
    reference, language = talk.reference, talk.language or "en"
    findings, vignette, diagnosis = (reference.get(key) for key in ("findings", "note", "diagnosis"))
    texts = [entry.get("text") for entry in findings or () if isinstance(entry, Mapping)]
    if not texts or not all(isinstance(text, str) for text in [*texts, vignette, diagnosis]):
        raise InputError(
            f"interview {talk.id!r} doesn't hold its case's findings, note and diagnosis in `reference`",
            todo="name interviews that bedside note2chat dialogues or rollouts made",
        )
    own = reference.get("patient_sentences")
    return CandidateMaterial(
        lines=spoken_lines(talk),
        states=tuple(doctor_states(talk)),
        vignette=str(vignette),
        findings=tuple(map(str, texts)),
        diagnosis=str(diagnosis),
        language=language,
        fixed=FixedSentences(**own) if isinstance(own, dict) else SENTENCES[language],
        generated_recall=recall,
    )


def place_labels(case: Case, places: Sequence[FindingPlace], rank: int | None) -> dict[str, Any]:
    """What was found of an interview, as labels of the protocol."""
    findings = case.note.findings if case.note else ()
    return {
        "findings": [
            {
                "text": finding.text,
                "categories": list(finding.categories),
                "opening": place.opening,
                "message": place.last,
            }
            for finding, place in zip(findings, places, strict=True)
        ],
        "diagnosis_rank": rank,
    }


def spoken_lines(transcript: Transcript) -> tuple[Line, ...]:
    """The messages of an interview.

    Raises:
        InputError: somebody else speaks too.
    """
    lines = []
    for turn in transcript.turns:
        if turn.role == "other":
            raise InputError(
                f"turn {turn.index} of transcript {transcript.id!r} is neither the clinician's nor the patient's",
                todo="leave it out",
            )
        lines.append(Line(turn.role, turn.text))
    return tuple(lines)

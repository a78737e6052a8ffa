"""The kinds of records that training data are: what each is made of, and what is written.

A kind is a generator of calls like a simulator's controller; :mod:`bedside.simulation.record_making` runs them all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson

from bedside.core.errors import InputError
from bedside.metrics.protocols.note2chat.turn_candidates import (
    CandidateInterview,
    CandidateTurn,
    TurnCandidate,
    TurnReward,
    diagnosing_reward,
)
from bedside.simulation.simulators.asking import Spoken, ask_clinician, flag_reader, part_of
from bedside.simulation.simulators.calls import Exchange, Line, together
from bedside.simulation.simulators.case import Case, ClinicalNote
from bedside.simulation.simulators.contract import MadeRecord, UnusableConversationError
from bedside.simulation.simulators.faults import clinician_watch
from bedside.simulation.simulators.note2chat.episode import VignettePatient, read_diagnoses
from bedside.simulation.simulators.note2chat.finding_places import (
    FindingPlace,
    diagnosis_rank,
    finding_places,
    numbered,
)
from bedside.simulation.simulators.note2chat.guided_dialogue import guided_dialogue
from bedside.simulation.simulators.note2chat.preparation import DischargeNote, prepared_case
from bedside.simulation.simulators.note2chat.training_records import (
    DoctorState,
    doctor_states,
    form_problem,
    message_thoughts,
)
from bedside.simulation.simulators.note2chat.vignette import SENTENCES, FixedSentences, ask_evaluator, prompt, sentences
from bedside.simulation.simulators.prompt_files import prompt_call
from bedside.transcripts.transcript import Transcript, Turn

# -- Candidates for each message of the doctor ----------------------------------------------------------

#: The call sites at which the doctor and the patient are asked.
DOCTOR, PATIENT = "candidate", "reply"
#: What a message has that can't be judged.
_UNUSABLE = ("refusal", "empty", "cut off")


@dataclass(frozen=True, slots=True)
class CandidateMaterial:
    """What candidates are made of.

    Attributes:
        lines: the interview, the patient first, the doctor's diagnosis last.
        states: where the doctor is asked.
        vignette, findings, diagnosis: of the case.
        language: code of their language.
        fixed: what the patient says word for word.
        generated_recall: recall of the interview that was written from the note, 0 to 1; None where it isn't known.
    """

    lines: tuple[Line, ...]
    states: tuple[DoctorState, ...]
    vignette: str
    findings: tuple[str, ...]
    diagnosis: str
    language: str
    fixed: FixedSentences
    generated_recall: float | None


def interview_candidates(
    material: CandidateMaterial, *, number: int, reward: TurnReward
) -> Exchange[tuple[CandidateTurn, ...]]:
    """Candidates for each message of the doctor, with their rewards.

    Args:
        material: of the interview.
        number: candidates of each message.
        reward: what asking ones are rewarded for.

    Raises:
        UnusableConversationError: where the interview conveys its findings can't be read, three times.
    """
    places = yield from finding_places(material.lines, material.findings, material.language)
    return (
        yield from together(
            *(
                _Turn(material, state, places, place * number, reward).judge_candidates(number)
                for place, state in enumerate(material.states)
            )
        )
    )


class _Turn:
    """The candidates of one turn, while they are made."""

    def __init__(
        self,
        material: CandidateMaterial,
        state: DoctorState,
        places: Sequence[FindingPlace],
        asked_before: int,
        reward: TurnReward,
    ) -> None:
        self.material = material
        self.state = state
        self.asked_before = asked_before
        self.reward = reward
        self.lines = material.lines[: state.turn]
        counted = [
            (text, place.patient_first is not None and place.patient_first < state.turn)
            for text, place in zip(material.findings, places, strict=True)
            if not place.opening
        ]
        self.recall = sum(known for _, known in counted) / len(counted) if counted else None
        #: The findings that count and were not told yet.
        self.untold = tuple(text for text, known in counted if not known)

    def judge_candidates(self, number: int) -> Exchange[CandidateTurn]:
        """So many candidates; of several with the same words one is judged for all."""
        messages = yield from together(*(self._message(place) for place in range(1, number + 1)))
        first: dict[str, int] = {}
        for place, spoken in enumerate(messages):
            if not set(spoken.flags) & set(_UNUSABLE):
                first.setdefault(" ".join(spoken.text.split()), place)
        judgements = yield from together(
            *(self._judgement(messages[place].text, place + 1) for place in first.values())
        )
        by_words = dict(zip(first, judgements, strict=True))
        candidates = [
            TurnCandidate(
                number=place,
                message=spoken.text,
                thought=spoken.thought,
                flags=spoken.flags,
                **by_words.get(" ".join(spoken.text.split()), _unusable(spoken)),
            )
            for place, spoken in enumerate(messages, start=1)
        ]
        asked = self.state.prompt(prompt("clinician_tuned", self.material.language).brief)
        return CandidateTurn(
            turn=self.state.turn, prompt=tuple(asked), recall=self.recall, candidates=tuple(candidates)
        )

    def _message(self, place: int) -> Exchange[Spoken]:
        filled = prompt("clinician_tuned", self.material.language)
        call = prompt_call(
            "clinician",
            DOCTOR,
            self.asked_before + place,
            filled,
            instruction=self.state.asked,
            material={
                "asked": self.state.asked,
                "language": self.material.language,
                "turn": self.state.turn,
                "number": place,
            },
        )
        return (yield from ask_clinician(call, clinician_watch(self.lines, self.material.language)))

    def _judgement(self, text: str, place: int) -> Exchange[Mapping[str, Any]]:
        """What a message is and what it is worth; or why that isn't known."""
        ordinal = self.asked_before + place
        try:
            diagnoses = yield from ask_evaluator(
                "diagnosis_reading", ordinal, self.material.language, read_diagnoses, variables={"message": text}
            )
            if diagnoses is not None:
                return (yield from self._diagnosing(diagnoses, ordinal))
            if self.reward == "answerable":
                return (yield from self._answerable(text, ordinal))
            return (yield from self._finding(text, ordinal))
        except UnusableConversationError as error:
            return {"missing": f"{error.whose}: {error.reason}"}

    def _diagnosing(self, diagnoses: tuple[str, ...], ordinal: int) -> Exchange[Mapping[str, Any]]:
        rank = yield from diagnosis_rank(self.material.diagnosis, diagnoses, self.material.language, ordinal=ordinal)
        worth = diagnosing_reward(rank, self.recall, self.material.generated_recall)
        return {
            "kind": "diagnosing",
            "diagnoses": diagnoses,
            "rank": rank,
            "reward": worth.value,
            "missing": worth.missing or "",
        }

    def _finding(self, text: str, ordinal: int) -> Exchange[Mapping[str, Any]]:
        """Whether the patient's answer tells a finding that wasn't told."""
        if not self.untold:
            return {"kind": "asking", "reward": 0.0}
        note = ClinicalNote(chief_complaint=self.lines[0].text, vignette=self.material.vignette)
        patient = VignettePatient(note, self.material.language, self.material.fixed, "rules")
        answer = yield from patient.reply((*self.lines, Line("clinician", text)), ordinal)
        listed = "\n".join(f"{number}. {finding}" for number, finding in enumerate(self.untold))
        findings = yield from ask_evaluator(
            "exchange_findings",
            ordinal,
            self.material.language,
            self._read_findings,
            variables={"findings": listed, "question": text, "answer": answer.text},
            material={"findings": self.untold, "question": text, "answer": answer.text},
        )
        return {"kind": "asking", "answer": answer.text, "findings": findings, "reward": float(bool(findings))}

    def _read_findings(self, value: Any) -> tuple[str, ...]:
        numbers = part_of(value, "findings")
        if not isinstance(numbers, list) or not all(type(number) is int for number in numbers):
            raise ValueError('"findings" must be a list of numbers')
        wrong = next((number for number in numbers if not 0 <= number < len(self.untold)), None)
        if wrong is not None:
            raise ValueError(f"no finding of the list has the number {wrong}")
        return tuple(self.untold[number] for number in sorted(set(numbers)))

    def _answerable(self, text: str, ordinal: int) -> Exchange[Mapping[str, Any]]:
        """Whether a question was not answered before, and the note answers it."""
        language, vignette = self.material.language, self.material.vignette
        answered, answerable = yield from together(
            ask_evaluator(
                "answered_before",
                ordinal,
                language,
                flag_reader("answered"),
                variables={"conversation": numbered(self.lines, language), "question": text},
                material={"messages": tuple((line.role, line.text) for line in self.lines), "question": text},
            ),
            ask_evaluator(
                "answerable",
                ordinal,
                language,
                flag_reader("answerable"),
                variables={"vignette": vignette, "question": text},
                material={"sentences": sentences(vignette), "question": text},
            ),
        )
        worth = float(answerable and not answered)
        return {"kind": "asking", "answered": answered, "answerable": answerable, "reward": worth}


def _unusable(spoken: Spoken) -> Mapping[str, Any]:
    """Why a message isn't judged."""
    reasons = [flag for flag in spoken.flags if flag in _UNUSABLE]
    return {"missing": f"the message can't be used: {', '.join(reasons)}"}


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
            todo="name interviews that bedside train note2chat dialogues or rollouts made",
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

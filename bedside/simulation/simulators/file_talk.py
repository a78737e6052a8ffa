"""Conversations by a protocol file: two sides in turn, each with its prompt; see :mod:`.protocol_file`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from bedside.simulation.simulators.asking import Fault, Spoken, ask_patient
from bedside.simulation.simulators.calls import ActorReply, ActorRole, Call, Exchange, Line
from bedside.simulation.simulators.case import Case
from bedside.simulation.simulators.contract import (
    SIMULATORS,
    Outcome,
    ProtocolSource,
    Simulator,
    SimulatorSetting,
    Situation,
)
from bedside.simulation.simulators.faults import SENTENCE_END, patient_fault
from bedside.simulation.simulators.ledger import ProtocolTalk
from bedside.simulation.simulators.protocol_file import MISSING, FileSetting, ProtocolFile, read_protocol
from bedside.transcripts.transcript import FAILED_AS

_ENDED, _LENGTH = "patient ended it", "length"


class FileTalk(ProtocolTalk):
    """One conversation while it is held.

    Args:
        situation: what it starts from.
        protocol: the file that describes it.
    """

    def __init__(self, situation: Situation, protocol: ProtocolFile) -> None:
        super().__init__(situation)
        self._protocol = protocol
        self._setting: FileSetting = protocol.settings()[situation.setting]
        self._fields = protocol.fields(situation.case)
        empty = protocol.form.empty_reply
        self._stand_in = "" if empty == MISSING else empty

    def course(self) -> Exchange[str]:
        """Messages in turn, up to the length or the words that end it; why it ended."""
        protocol, ledger, length = self._protocol, self.ledger, self._setting.length
        assert length is not None
        opening = protocol.opens.fill(self._fields)
        if protocol.form.clinician.kept:
            ledger.say("patient", Spoken(protocol.hears_first.fill(self._fields)))
        if opening:
            ledger.say("patient", Spoken(opening))
        for place in range(bool(opening), length.number):
            number = place // 2 + 1
            if (place % 2 == 0) == bool(protocol.form.patient.opens):
                spoken = yield from self._patient_message(number)
                ledger.say("patient", spoken)
                if self._ends(spoken.text, number):
                    return _ENDED
                continue
            spoken = yield from self._clinician_message(number)
            if not spoken.text:
                return ledger.silence(spoken.flags)
            ledger.say("clinician", spoken)
        return _LENGTH

    def outcome(self, stop: str) -> Outcome:
        """What it came to."""
        protocol, completed = self._protocol, stop in (_ENDED, _LENGTH)
        person = self.case.extra[protocol.form.protocol]
        simulation = {} if completed or not protocol.failed else {FAILED_AS: dict(protocol.failed)}
        return self.ledger.outcome(stop, completed=completed, reference=dict(person), simulation=simulation)

    def _ends(self, text: str, number: int) -> bool:
        ends = self._setting.ends
        return ends is not None and number >= ends.not_before and _plain(ends.patient_says) in _plain(text)

    def _seen(self, before: tuple[Line, ...] = ()) -> tuple[Line, ...]:
        lines = (*before, *self.ledger.lines)
        return lines[-1:] if self._setting.shows == "last" else lines

    def _clinician_message(self, number: int) -> Exchange[Spoken]:
        protocol = self._protocol
        first = protocol.hears_first.fill(self._fields)
        before = (Line("patient", first),) if first and not protocol.form.clinician.kept else ()
        prompts = [protocol.clinician.prompt(self._fields)] if protocol.clinician.text else []
        spoken = yield from self.ask_clinician(number, *prompts, history=self._seen(before))
        if spoken.flags == ("empty",) and self._stand_in:
            return Spoken(self._stand_in, spoken.thought, None, spoken.flags, spoken.refused)
        return spoken

    def _patient_message(self, number: int) -> Exchange[Spoken]:
        prompt, ends = self._protocol.patient, self._setting.ends
        told = {name: self._fields[name] for _, name, _ in prompt.holes()}
        filled = prompt.prompt(self._fields)
        material: dict[str, Any] = {"fields": told, "language": self.language}
        if ends is not None and _plain(ends.patient_says) in _plain(filled.brief):
            material |= {"end": ends.patient_says, "not_before": ends.not_before}
        call = self.call("patient", "answer", number, filled, history=self._seen(), material=material)
        own = self.ledger.texts("patient")

        def check(text: str) -> Fault | None:
            return patient_fault(text, language=self.language, earlier=own, sentences=None, words=None)

        def fallback(fault: Fault) -> str | None:
            return self._stand_in if fault.reason == "empty" and self._stand_in else None

        return (yield from ask_patient(call, check, fallback=fallback))


def _plain(text: str) -> str:
    """Words as they are compared: without differences of case, white space and kinds of apostrophes."""
    return " ".join(text.casefold().replace("’", "'").split())


def _converse(protocol: ProtocolFile, situation: Situation) -> Exchange[Outcome]:
    talk = FileTalk(situation, protocol)
    return (yield from talk.ledger.keep(talk.hold()))


# -- Toys -----------------------------------------------------------------------------------------------

_QUESTIONS = (
    "Hello. What would you like to talk about today?",
    "Can you tell me more about that?",
    "How long has this been going on for you?",
    "How do you feel about it at the moment?",
    "Who knows about this, and who is there for you?",
    "What has helped you before, even a little?",
    "Is there anything that makes it worse?",
    "What would a good next week look like?",
)
_NOTHING = {"en": "I have told you all there is to tell.", "zh": "我能说的都已经告诉你了。"}
_MARKS = re.compile(r"[*_\[\]{}()<>#|\"`~]+")


def _toy_patient(call: Call) -> ActorReply:
    """It says its fields one after the other, whatever it is asked, and understands nothing."""
    told, end = list(call.material["fields"].items()), call.material.get("end")
    if end and call.ordinal > len(told) and call.ordinal >= call.material["not_before"]:
        return ActorReply(end)
    name, text = told[(call.ordinal - 1) % len(told)] if told else ("", "")
    plain = " ".join(_MARKS.sub(" ", SENTENCE_END.split(text)[0]).split()).rstrip(".!?。！？")
    language = call.material["language"]
    line = f"About {re.split(r'[._]', name)[-1]}: {plain}." if language == "en" else f"{plain}."
    if patient_fault(line, language=language, sentences=None, words=None) is None:
        return ActorReply(line)
    # What is no message of a patient's would end the conversation: a toy says the same when it is asked again.
    return ActorReply(_NOTHING.get(language, _NOTHING["en"]))


_RULES: Mapping[ActorRole, Callable[[Call], ActorReply]] = {
    "clinician": lambda call: ActorReply(_QUESTIONS[(call.ordinal - 1) % len(_QUESTIONS)]),
    "patient": _toy_patient,
    "evaluator": lambda call: ActorReply("{}"),  # nothing is asked of it
}

# -- The simulator --------------------------------------------------------------------------------------


def file_simulator(protocol: ProtocolFile) -> Simulator:
    """The simulator that a protocol file describes."""
    form = protocol.form
    scripts = protocol.path.parent / "scripts"
    return Simulator(
        name=form.protocol,
        title=form.title,
        version=1,
        source=form.source,
        languages=(form.language,),
        settings=tuple(
            SimulatorSetting(name, setting.title or name, _about(protocol, setting))
            for name, setting in protocol.settings().items()
        ),
        cases=protocol.people,
        scripts=scripts if scripts.is_dir() else None,
        converse=partial(_converse, protocol),
        check_case=protocol.problems,
        briefs=lambda case, setting: protocol.clinician.fill(protocol.fields(case)),
        rules=_RULES,
        most_calls=partial(_most_calls, protocol),
        patient_facts=partial(_patient_facts, protocol),
        made_of=ProtocolSource(
            file_simulator, protocol, protocol.read_people, protocol.suite, protocol.files, protocol.data
        ),
    )


def _about(protocol: ProtocolFile, setting: FileSetting) -> str:
    first = "patient" if protocol.form.patient.opens else "clinician"
    sees = "the whole conversation" if setting.shows == "whole" else "the last message only"
    ends = "" if setting.ends is None else f"; it ends before where the patient says {setting.ends.patient_says!r}"
    return f"The {first} speaks first, for {setting.length}{ends}; each side sees {sees}."


def _most_calls(protocol: ProtocolFile, situation: Situation) -> Mapping[ActorRole, int]:
    length = protocol.settings()[situation.setting].length
    assert length is not None
    each = -(-length.number // 2)
    return {"clinician": 2 * each, "patient": 3 * each, "evaluator": 0}


def _patient_facts(protocol: ProtocolFile, case: Case) -> tuple[str, ...]:
    fields = protocol.fields(case)
    names = dict.fromkeys(name for _, name, _ in protocol.patient.holes())
    return tuple(f"{name}: {fields[name]}" for name in names if fields.get(name))


def find_simulator(name_or_path: str) -> Simulator:
    """The simulator of a protocol, by its name or by the path of a protocol file.

    Raises:
        RegistryError: no protocol has this name.
        InputError: a file can't be read or used; file and line are named.
    """
    if name_or_path.endswith((".yaml", ".yml")):
        return file_simulator(read_protocol(Path(name_or_path)))
    return SIMULATORS.load(name_or_path)

"""The clinician under test: what it is told, its messages, whether it stops, and what it finds.

Stopping and findings are calls of their own after a message, never read out of its words.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter, ValidationError

from bedside.metrics.protocols.label_files import complaint
from bedside.metrics.protocols.medconceal import SubmittedFinding
from bedside.simulation.simulators.asking import Decided, Spoken, ask_clinician, ask_for_data
from bedside.simulation.simulators.calls import Call, Exchange, Line
from bedside.simulation.simulators.case import Case
from bedside.simulation.simulators.contract import EarlyForm
from bedside.simulation.simulators.faults import clinician_watch
from bedside.simulation.simulators.medconceal.reserved_patient import prompt_text
from bedside.simulation.simulators.prompt_files import FilledPrompt, listed

#: Messages after which a person may begin to write down what they found.
FINDINGS_AFTER = 5
_FINDINGS = TypeAdapter(tuple[SubmittedFinding, ...])


@dataclass(frozen=True, slots=True)
class ConcernSeeker:
    """The clinician's part of one conversation; nothing that the case hides is in it.

    Attributes:
        case: whose chart it sees.
        intervention: whether it is to guide the patient to a plan, rather than to find concerns.
        most: messages that it has at most.
        may_stop: whether it decides when it has heard enough.
    """

    case: Case
    intervention: bool
    most: int
    may_stop: bool

    def brief(self) -> FilledPrompt:
        """What it is told at the start."""
        chart = listed([f"{heading}: {text}" for heading, text in self.case.chart.items()], "- nothing")
        if self.intervention:
            assert self.case.intervention is not None
            return prompt_text(
                "clinician_intervention",
                self.case.language,
                chart=chart,
                preference=self.case.intervention.preference,
                plan=self.case.intervention.plan,
                messages=self.most,
            )
        name = "clinician_adaptive" if self.may_stop else "clinician_confirmation"
        return prompt_text(name, self.case.language, chart=chart, messages=self.most)

    def message(self, lines: Sequence[Line], number: int) -> Exchange[Spoken]:
        """The next message, number ``number`` from 1."""
        brief = self.brief()
        call = Call(
            "clinician",
            "message",
            number,
            brief=brief.brief,
            history=tuple(lines),
            material=self._material(number),
            prompt=brief.reference,
        )
        return (yield from ask_clinician(call, clinician_watch(lines, self.case.language)))

    def stops(self, lines: Sequence[Line], number: int) -> Exchange[Decided]:
        """Whether it has heard enough; it goes on where that can't be read."""
        return (yield from self._data("decision", lines, number, _stop, neutral=False))

    def findings(self, lines: Sequence[Line]) -> Exchange[Decided]:
        """The concerns that it found; None where they can't be read."""
        return (yield from self._data("findings", lines, 1, _findings, neutral=None))

    def _data(
        self,
        purpose: str,
        lines: Sequence[Line],
        number: int,
        read: Callable[[Any], Any],
        *,
        neutral: Any,
    ) -> Exchange[Decided]:
        brief, wish = self.brief(), prompt_text(purpose, self.case.language)
        call = Call(
            "clinician",
            purpose,
            number,
            brief=brief.brief,
            history=tuple(lines),
            instruction=wish.instruction,
            kind="data",
            schema=wish.schema,
            material=self._material(number),
            prompt=f"{brief.reference} {wish.reference}",
        )
        return (yield from ask_for_data(call, read, neutral=neutral))

    def _material(self, number: int) -> dict[str, Any]:
        material: dict[str, Any] = {
            "chart": dict(self.case.chart),
            "task": "intervention" if self.intervention else "confirmation",
            "language": self.case.language,
            "number": number,
            "most": self.most,
        }
        if self.intervention and self.case.intervention is not None:
            material["intervention"] = self.case.intervention.model_dump()
        return material


def early_findings(call: Call) -> EarlyForm | None:
    """The form for findings, where a person is to find concerns."""
    if call.actor != "clinician" or call.material["task"] != "confirmation":
        return None
    schema = prompt_text("findings", call.material["language"]).schema
    assert schema is not None
    return EarlyForm(FINDINGS_AFTER, schema)


def _stop(value: Any) -> bool:
    decision = value.get("decision") if isinstance(value, dict) else None
    if decision not in ("STOP", "CONTINUE"):
        raise ValueError('"decision" must be "STOP" or "CONTINUE"')
    return bool(decision == "STOP")


def _findings(value: Any) -> tuple[dict[str, Any], ...]:
    if not isinstance(value, dict) or not isinstance(value.get("findings"), list):
        raise ValueError('there is no list "findings"')
    try:
        findings = _FINDINGS.validate_python(value["findings"])
    except ValidationError as error:
        raise ValueError(complaint(error)) from None
    return tuple(finding.model_dump() for finding in findings)

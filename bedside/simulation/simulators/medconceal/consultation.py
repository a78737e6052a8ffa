"""The consultation: clinician, evaluator, policy, patient and guard, turn by turn, in both tasks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

import orjson
from pydantic import TypeAdapter, ValidationError

from bedside.judges.prompt import Conversation, Prompt, Question, pending_question
from bedside.judges.rubrics.rubric_files import RUBRICS
from bedside.metrics.protocols.label_files import complaint
from bedside.metrics.protocols.medconceal.labels import (
    Concern,
    ConcernTurnLabels,
    SubmittedFinding,
    evaluated_turn,
    primary_of,
)
from bedside.metrics.protocols.medconceal.policy import Policy, Step, find_parameters, turn_step
from bedside.simulation.simulators.asking import ATTEMPTS, CLINICIAN_ATTEMPTS, Decided, Spoken, ask_for_data, part_of
from bedside.simulation.simulators.calls import ActorRole, Call, Exchange, Line
from bedside.simulation.simulators.case import Case
from bedside.simulation.simulators.contract import EarlyForm, Outcome, Situation, facts_in
from bedside.simulation.simulators.medconceal.reserved_patient import (
    FOLDER,
    TOLD_AFTER_DENIAL,
    ReservedTalk,
    gives_away,
    prompt_text,
    told_after_denial,
)
from bedside.simulation.simulators.prompt_files import FilledPrompt, listed
from bedside.transcripts.transcript import Transcript, Turn

# -- The evaluator's call -------------------------------------------------------------------------------

#: The rubric.
RUBRIC = "turn_evaluator"
#: Digits of the rubric's version that stand in the reference to the prompt.
_DIGITS = 12


@cache
def _question() -> Question:
    return Question(RUBRICS.load(RUBRIC))


def evaluate_turn(lines: Sequence[Line], number: int, language: str) -> Exchange[Decided]:
    """Labels of the last clinician turn, as :class:`ConcernTurnLabels`.

    Args:
        lines: the conversation up to that turn, which is the last one.
        number: number of the clinician turn, from 1.
        language: code of the conversation's language.

    Raises:
        UnusableConversationError: no reply could be read; a course can't skip a turn.
    """
    question = _question()
    rubric = question.rubric
    turns = tuple(Turn(index, line.role, line.role, line.text) for index, line in enumerate(lines))
    transcript = Transcript("conversation", turns, language=language)
    *_, prompt = question.prompts(Conversation(transcript))
    assert isinstance(prompt, Prompt)

    def read(answer: Any) -> ConcernTurnLabels:
        problem = rubric.problem(answer)
        if problem is not None:
            raise ValueError(problem)
        return ConcernTurnLabels.model_validate(evaluated_turn(answer))

    call = Call(
        "evaluator",
        "evaluation",
        number,
        instruction=prompt.text,
        kind="data",
        schema=orjson.loads(prompt.schema.text),
        material={"utterance": lines[-1].text, "pending_question": pending_question(transcript, turns[-1])},
        prompt=f"{RUBRIC}@{question.version[:_DIGITS]}",
    )
    return (yield from ask_for_data(call, read))


# -- Tasks ----------------------------------------------------------------------------------------------

#: The clinician message from which on an adaptive consultation asks whether it goes on.
FIRST_STOP = 5


@dataclass(frozen=True, slots=True)
class Task:
    """A task with a number of turns.

    Attributes:
        name: of the task.
        turns: clinician turns at most.
        adaptive: whether the clinician decides when it has heard enough.
    """

    name: str
    turns: int
    adaptive: bool = False

    @property
    def intervention(self) -> bool:
        """Whether one concern is to be addressed, rather than many found."""
        return self.name == "intervention"


#: Tasks by the setting's name.
TASKS: Mapping[str, Task] = {
    "confirmation-8": Task("confirmation", 8),
    "confirmation-adaptive": Task("confirmation", 20, adaptive=True),
    "intervention-8": Task("intervention", 8),
    "intervention-20": Task("intervention", 20),
}


# -- The clinician's part -------------------------------------------------------------------------------
# Stopping and findings are calls of their own after a message, never read out of its words. Nothing that the case hides
# is in any call to it.

#: Messages after which a person may begin to write down what they found.
FINDINGS_AFTER = 5
_FINDINGS = TypeAdapter(tuple[SubmittedFinding, ...])


def clinician_brief(case: Case, task: Task) -> FilledPrompt:
    """What the clinician is told at the start."""
    chart = listed([f"{heading}: {text}" for heading, text in case.chart.items()], "- nothing")
    slots: dict[str, Any] = {"chart": chart, "messages": task.turns}
    if not task.intervention:
        name = "clinician_adaptive" if task.adaptive else "clinician_confirmation"
        return prompt_text(name, case.language, **slots)
    assert case.intervention is not None
    slots |= {"preference": case.intervention.preference, "plan": case.intervention.plan}
    return prompt_text("clinician_intervention", case.language, **slots)


def early_findings(call: Call) -> EarlyForm | None:
    """The form for findings, where a person is to find concerns."""
    if call.actor != "clinician" or call.material["task"] != "confirmation":
        return None
    schema = prompt_text("findings", call.material["language"]).schema
    assert schema is not None
    return EarlyForm(FINDINGS_AFTER, schema)


def _stop(value: Any) -> bool:
    decision = part_of(value, "decision")
    if decision not in ("STOP", "CONTINUE"):
        raise ValueError('"decision" must be "STOP" or "CONTINUE"')
    return bool(decision == "STOP")


def _findings(value: Any) -> tuple[dict[str, Any], ...]:
    if not isinstance(part_of(value, "findings"), list):
        raise ValueError('there is no list "findings"')
    try:
        findings = _FINDINGS.validate_python(value["findings"])
    except ValidationError as error:
        raise ValueError(complaint(error)) from None
    return tuple(finding.model_dump() for finding in findings)


# -- The consultation -----------------------------------------------------------------------------------


class Consultation(ReservedTalk):
    """One consultation while it is held."""

    def __init__(self, situation: Situation) -> None:
        case, task = situation.case, TASKS[situation.setting]
        hidden = [concern for concern in case.hidden.concerns if concern.primary or not task.intervention]
        super().__init__(situation, hidden, intervention=task.intervention)
        self.task = task
        #: What tables write; it names the task, as they group by it.
        self.title = next(each.title for each in facts_in(FOLDER)["settings"] if each.name == situation.setting)
        self.brief = clinician_brief(case, task)
        self.concerns = [
            Concern(id=concern.id, category=concern.category, text=concern.text, primary=concern.primary)
            for concern in hidden
        ]
        self.policy = Policy(self.parameters, tuple(concern.id for concern in self.concerns), primary_of(self.concerns))
        self.state = self.policy.start()
        self.findings: tuple[dict[str, Any], ...] | None = None

    def hold(self) -> Exchange[Outcome]:
        """All of it, and what the clinician found."""
        stop = yield from self.course()
        if not self.task.intervention and self.ledger.lines:
            self.findings = yield from self._decided("findings", 1, _findings, neutral=None)
        return self.outcome(stop)

    def course(self) -> Exchange[str]:
        """The turns; why it ended."""
        ledger, task = self.ledger, self.task
        for number in range(1, task.turns + 1):
            spoken = yield from self.ask_clinician(number, self.brief, material=self._material(number))
            if spoken.refused:
                ledger.note("message", refused=spoken.refused)
            if not spoken.text:
                return ledger.silence(spoken.flags)
            yield from self._answered(spoken, number)
            if stop := ledger.repeated():
                return stop
            addressed = self.state.addressed_at is not None
            if addressed and task.intervention and self.options["stop_when_addressed"]:
                return "addressed"
            # It goes on where its decision can't be read.
            asked = task.adaptive and FIRST_STOP <= number < task.turns
            if asked and (yield from self._decided("decision", number, _stop, neutral=False)):
                return "clinician stops"
        return "turn limit"

    def _answered(self, spoken: Spoken, number: int) -> Exchange[None]:
        """One clinician turn evaluated, the policy's step, and the patient's reply."""
        ledger = self.ledger
        index, lines = len(ledger.turns), [*ledger.lines, Line("clinician", spoken.text)]
        evaluated = yield from evaluate_turn(lines, number, self.language)
        labels = evaluated.value
        step = turn_step(
            index, spoken.text, labels, ledger.texts("clinician"), concerns=self.concerns, parameters=self.parameters
        )
        self.state = self.policy.step(self.state, step)
        ledger.note(
            "policy",
            step=asdict(step),
            state=asdict(self.state),
            revealed_now=list(self.state.revealed_now),
            evaluations_refused=evaluated.refused,
        )
        ledger.say("clinician", spoken, labels={"medconceal": labels.model_dump(mode="json", exclude_none=True)})
        reply, stance = yield from self.reply(self.state, blocked=step.blocked, asked=self._asked(step))
        ledger.note("reply", stance=stance, fallback="fallback" in reply.flags, refused=reply.refused)
        ledger.say("patient", reply)

    def _asked(self, step: Step) -> bool:
        """Whether a turn that reveals nothing asked after what is still hidden, by its topic or openly."""
        topic, state = step.topic, self.state
        if topic is None or step.blocked or state.revealed_now:
            return False
        named = {*state.about, *(each for each, names in zip(self.policy.concerns, topic.named, strict=True) if names)}
        hidden = set(self.policy.concerns) - state.revealed_at.keys()
        return bool(hidden and (topic.open or hidden & named))

    def _decided(self, purpose: str, number: int, read: Any, *, neutral: Any) -> Exchange[Any]:
        """What the clinician says beside its messages; the neutral value where that can't be read."""
        call = self.call(
            "clinician", purpose, number, self.brief, self.prompt(purpose), material=self._material(number)
        )
        decided = yield from self.decide(call, read, neutral=neutral)
        self.ledger.note_last(purpose, value=decided.value, readable=decided.readable, refused=decided.refused)
        return decided.value

    def _material(self, number: int) -> dict[str, Any]:
        material: dict[str, Any] = {
            "chart": dict(self.case.chart),
            "task": self.task.name,
            "language": self.language,
            "number": number,
            "most": self.task.turns,
        }
        if self.task.intervention and self.case.intervention is not None:
            material["intervention"] = self.case.intervention.model_dump()
        return material

    def outcome(self, stop: str) -> Outcome:
        """What it came to."""
        if told := told_after_denial(self.replies, self.state.revealed_at):
            self.ledger.flags[TOLD_AFTER_DENIAL] += len(told)
        reference: dict[str, Any] = {"concerns": [concern.model_dump(mode="json") for concern in self.concerns]}
        if self.findings is not None:
            reference["submitted_findings"] = list(self.findings)
        return self.ledger.outcome(
            stop,
            completed=stop in ("turn limit", "addressed", "clinician stops"),
            reference=reference,
            factors={"task": self.task.name, "setting": self.title},
            simulation={
                "parameters": {"name": self.parameters.name, "sha256": self.parameters.digest()},
                "turn_limit": self.task.turns,
            },
            labelled=True,
            # The clinician speaks first, and each of its turns has an answer.
            released={concern: 2 * (number - 1) for concern, number in self.state.revealed_at.items()},
        )


def most_calls(situation: Situation) -> Mapping[ActorRole, int]:
    """The most calls that a consultation can take, by role, attempts included."""
    task = TASKS[situation.setting]
    decisions = task.turns - FIRST_STOP if task.adaptive else 0
    findings = 0 if task.intervention else 1
    return {
        "clinician": task.turns * CLINICIAN_ATTEMPTS + (decisions + findings) * ATTEMPTS,
        "evaluator": task.turns * ATTEMPTS,
        "patient": task.turns * ATTEMPTS,
    }


def problems(case: Case) -> Iterator[str]:
    """What a case lacks or has wrong for this protocol, a sentence each."""
    concerns = case.hidden.concerns
    if not case.chart:
        yield "It has no `chart`, which the clinician is shown."
    if not case.patient.facts:
        yield "Its `patient` has no `facts` to answer from."
    if not case.patient.deflections:
        yield "Its `patient` has no `deflections`, which are said where a reply gives something away three times."
    if not concerns:
        yield "It has no `concerns` under `hidden`."
    for concern in concerns:
        if not concern.voiced:
            yield f"Its concern {concern.id!r} has no `voiced` sentence, in which the patient would say it."
    if len({concern.id for concern in concerns}) < len(concerns):
        yield "Two of its concerns have one `id`."
    if sum(concern.primary for concern in concerns) != 1 and concerns:
        yield "Mark exactly one of its concerns as `primary`: the intervention is about that one."
    if case.intervention is None:
        yield "It has no `intervention` with the patient's `preference` and the `plan`."
    yield from _given_away(case)


def _given_away(case: Case) -> Iterator[str]:
    """What would have to be left out of the patient's part because it holds a hidden concern."""
    thresholds = find_parameters("default").guard
    patient = case.patient
    preference = case.intervention.preference if case.intervention is not None else ""
    for name, text in (
        ("narrative", patient.narrative),
        ("style", patient.style),
        ("preference", preference),
        *(("deflections", line) for line in patient.deflections),
    ):
        for concern in case.hidden.concerns:
            if gives_away(text, concern, frozenset(), thresholds):
                yield f"Its `{name}` gives the concern {concern.id!r} away: put it in other words."

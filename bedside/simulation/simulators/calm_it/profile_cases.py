"""Cases from profiles: of who somebody is and how they think, a model writes background and goal for the session."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from bedside.metrics.protocols.label_files import complaint
from bedside.simulation.simulators.asking import ask_for_data, part_of
from bedside.simulation.simulators.calls import Exchange
from bedside.simulation.simulators.calm_it.client_fields import PROTOCOL, ClientBackground, ClientSketch, sketch_of
from bedside.simulation.simulators.calm_it.state_calls import as_json, prompt_text
from bedside.simulation.simulators.case import Case
from bedside.simulation.simulators.contract import MadeRecord
from bedside.simulation.simulators.prompt_files import prompt_call

#: Of the rules and prompts that make cases; part of every record's key.
VERSION = 1


def completed_case(case: Case) -> Exchange[Case]:
    """A case whose background and session goal are written where they are missing; what is there stays.

    Raises:
        UnusableConversationError: no reply could be read.
    """
    sketch = sketch_of(case)
    fields: dict[str, Any] = dict(case.extra[PROTOCOL])
    background = sketch.background
    if not background.facts():
        background = yield from _asked(case, "background", _known(sketch), _background)
        sections = background.model_dump(mode="json")
        fields["background"] = {name: facts for name, facts in sections.items() if facts}
    if not sketch.session_goal.strip():
        inputs = {**_known(sketch), "background": background.model_dump(mode="json")}
        fields["session_goal"] = yield from _asked(case, "goal", inputs, _goal)
    return case.model_copy(update={"extra": {**case.extra, PROTOCOL: fields}})


def case_record(case: Case) -> Exchange[MadeRecord]:
    """A completed case, as it is written."""
    whole = yield from completed_case(case)
    return MadeRecord(whole.model_dump(mode="json", exclude_defaults=True))


def _known(sketch: ClientSketch) -> dict[str, Any]:
    """What is known of somebody; of a matched respondent, what they said of themselves."""
    match = sketch.dass.match if sketch.dass is not None else None
    return {
        "profile": sketch.profile.model_dump(),
        "cognitive_model": dict(sketch.cognitive_model),
        "topic": sketch.topic,
        "respondent": dict(match.demographics) if match is not None else {},
    }


def _asked(case: Case, what: str, inputs: dict[str, Any], read: Any) -> Exchange[Any]:
    prompt = prompt_text(f"profile_{what}", case.language, inputs=as_json(inputs))
    decided = yield from ask_for_data(prompt_call("evaluator", f"profile {what}", 1, prompt, material=inputs), read)
    return decided.value


def _background(value: Any) -> ClientBackground:
    try:
        background = ClientBackground.model_validate(value)
    except ValidationError as error:
        raise ValueError(complaint(error)) from None
    if not background.facts():
        raise ValueError("there are no facts in any section")
    return background


def _goal(value: Any) -> str:
    goal = part_of(value, "session_goal")
    if not isinstance(goal, str) or not goal.strip():
        raise ValueError('there is no sentence as "session_goal"')
    return " ".join(goal.split())

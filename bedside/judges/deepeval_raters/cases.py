"""Transcripts as deepeval's test cases, and what keeps a transcript from being rated."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from bedside.judges.deepeval_raters.catalogue import Need
from bedside.judges.deepeval_raters.chosen_metrics import DeepevalMetric
from bedside.judges.llm.deepeval_library import deepeval_module
from bedside.transcripts.transcript import Transcript, Turn

_UNCLEAN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]|\[DEEPEVAL:")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
#: Control characters other than tab and line feed become their visible pictures.
_CONTROLS = {code: 0x2400 + code for code in range(32) if code not in (9, 10)} | {0x7F: 0x2421}
#: Fields of a test case that a transcript's reference may hold under the same names.
_FIELDS = ("scenario", "expected_outcome", "user_description")
_FROM_TURNS = ("retrieval_context", "tools_called")
_FROM_REFERENCE = {
    "chatbot_role": "the transcript's reference has no chatbot_role, and deepeval.chatbot_role isn't said",
    "relevant_topics": "the transcript's reference has no relevant_topics, and deepeval.relevant_topics aren't said",
    "available_tools": "the transcript's reference has no available_tools",
    "expected_outcome": "the transcript's reference has no expected_outcome",
}


def problem_of(metric: DeepevalMetric, transcript: Transcript) -> str | None:
    """Why a metric can't rate a transcript; None where it can.

    Where nothing is there to be judged deepeval gives its best or its worst score; here, there is none.
    """
    assistant, user = _sides(metric)
    roles = [turn.role for turn in transcript.turns if turn.role in (assistant, user)]
    if user not in roles or assistant not in roles[roles.index(user) :]:
        return f"no turn of the {assistant} follows one of the {user}"
    for need in metric.kind.needs:
        if need in _FROM_TURNS:
            if not any(turn.meta.get(need) for turn in transcript.turns if turn.role == assistant):
                return f"no turn of the {assistant} has {need} in its meta"
        elif not needed(need, metric, transcript):
            return _FROM_REFERENCE[need]
    return None


def needed(need: Need, metric: DeepevalMetric, transcript: Transcript) -> Any:
    """What a metric needs of a transcript: what was said for all of them, or what its reference holds."""
    return getattr(metric, need, None) or transcript.reference.get(need)


def deepeval_case(metric: DeepevalMetric, transcript: Transcript) -> Any:
    """The ``ConversationalTestCase`` that a transcript is: the turns of both sides, without those of others.

    Raises:
        ValueError: deepeval doesn't take what the transcript's reference or a turn's meta holds.
    """
    cases = deepeval_module("test_case")
    assistant, user = _sides(metric)
    sides = {assistant: "assistant", user: "user"}
    role = needed("chatbot_role", metric, transcript)
    context = transcript.reference.get("context")
    return cases.ConversationalTestCase(
        name=transcript.id,
        turns=[_turn(turn, sides[turn.role]) for turn in transcript.turns if turn.role in sides],
        chatbot_role=None if role is None else clean(str(role)),
        context=None if context is None else [clean(text) for text in _texts(context)],
        **{
            name: clean(str(transcript.reference[name])) for name in _FIELDS if transcript.reference.get(name)
        },
    )


def _sides(metric: DeepevalMetric) -> tuple[str, str]:
    """The roles of deepeval's assistant and of its user."""
    return ("clinician", "patient") if metric.assistant == "clinician" else ("patient", "clinician")


def _turn(turn: Turn, side: str) -> Any:
    cases = deepeval_module("test_case")
    fields: dict[str, Any] = {}
    if turn.meta.get("retrieval_context"):
        fields["retrieval_context"] = [clean(text) for text in _texts(turn.meta["retrieval_context"])]
    if turn.meta.get("tools_called"):
        fields["tools_called"] = tools(turn.meta["tools_called"])
    return cases.Turn(role=side, content=clean(turn.text), **fields)


def tools(entries: Any) -> list[Any]:
    """Tools as deepeval has them, of their names or of objects with its fields.

    Raises:
        ValueError: they are something else.
    """
    tool = deepeval_module("test_case").ToolCall
    listed = entries if isinstance(entries, list | tuple) else [entries]
    return [
        tool(**_cleaned(entry)) if isinstance(entry, Mapping) else tool(name=clean(str(entry)))
        for entry in listed
    ]


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, Mapping):
        return {str(key): _cleaned(part) for key, part in value.items()}
    return [_cleaned(part) for part in value] if isinstance(value, list | tuple) else value


def _texts(value: Any) -> list[str]:
    return [str(text) for text in value] if isinstance(value, list | tuple) else [str(value)]


def clean(text: str) -> str:
    """A text without what can't be sent, and without the marks by which deepeval loads pictures."""
    if not _UNCLEAN.search(text):
        return text
    return _SURROGATE.sub("\ufffd", text).replace("[DEEPEVAL:", "[DEEPEVAL :").translate(_CONTROLS)

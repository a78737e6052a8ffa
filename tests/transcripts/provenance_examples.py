"""A talk as each reader's form has it, with what its system was told and which tools it called, and without."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

#: Words that stand in what a system is told, and in calls and results of tools, and nowhere else.
SYSTEM, TOOLS = "heronsystemcanary", "ottertoolcanary"
CANARIES = (SYSTEM, TOOLS)
PROMPT = f"You are the NEW warm prompt v2. Be empathic, {SYSTEM}."
CALL = {"id": "c1", "type": "function", "function": {"name": f"look_{TOOLS}", "arguments": "{}"}}
FOUND = f"The chart says {TOOLS}."
SAID = ("I sleep badly.", "Since when?", "Since May, every night.", "That sounds exhausting.")


@dataclass(frozen=True)
class ProvenanceExample:
    """How a form holds a talk.

    Attributes:
        name: of the file.
        content: with provenance or, if False, without.
        kinds: the kinds of provenance that the form can hold.
        options: how it is read.
    """

    name: str
    content: Callable[[bool], str]
    kinds: tuple[str, ...] = ("system", "tools")
    options: Mapping[str, Any] = field(default_factory=dict)


def _json(value: Any) -> str:
    return json.dumps(value) + "\n"


def _openai(apart: bool, user: str = "user", assistant: str = "assistant") -> list[dict[str, Any]]:
    """OpenAI's messages; a call stands beside words, and in a message of its own."""
    said: list[dict[str, Any]] = [{"role": (user, assistant)[at % 2], "content": text} for at, text in enumerate(SAID)]
    if not apart:
        return said
    return [
        {"role": "system", "content": PROMPT},
        said[0],
        {**said[1], "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "c1", "content": FOUND},
        {"role": "developer", "content": PROMPT},
        said[2],
        {"role": assistant, "content": None, "tool_calls": [CALL]},
        {"role": "tool", "content": FOUND},
        said[3],
    ]


def _calls(apart: bool) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """What a model was sent last, and what it answered."""
    *sent, answered = _openai(apart)
    return sent, answered


def _rows(apart: bool, separator: str = ",") -> list[tuple[str, str]]:
    said = [(("user", "assistant")[at % 2], text) for at, text in enumerate(SAID)]
    return [("system", PROMPT), *said[:2], ("tool", FOUND), *said[2:]] if apart else said


def _batch(apart: bool) -> str:
    system = {"system": PROMPT, "tools": [{"name": TOOLS, "input_schema": {}}]} if apart else {}
    return _json({"custom_id": "b", "params": {"model": "A", "max_tokens": 9, **system, "messages": _openai(apart)}})


def _gemini(apart: bool) -> str:
    contents: list[dict[str, Any]] = [
        {"role": ("user", "model")[at % 2], "parts": [{"text": text}]} for at, text in enumerate(SAID)
    ]
    if not apart:
        return _json({"contents": contents})
    contents[1]["parts"].append({"functionCall": {"name": TOOLS}})
    contents[2]["parts"].insert(0, {"functionResponse": {"name": "x", "response": {"content": TOOLS}}})
    return _json({"systemInstruction": {"parts": [{"text": PROMPT}]}, "contents": contents})


def _chatgpt(apart: bool) -> str:
    nodes: dict[str, Any] = {}
    for at, message in enumerate(message for message in _openai(apart) if isinstance(message["content"], str)):
        nodes[str(at)] = {
            "parent": str(at - 1) if at else None,
            "children": [str(at + 1)],
            "message": {
                "author": {"role": message["role"]},
                "content": {"content_type": "text", "parts": [message["content"]]},
                "metadata": {},
            },
        }
    return _json([{"conversation_id": "c", "current_node": str(len(nodes) - 1), "mapping": nodes}])


def _claude(apart: bool) -> str:
    messages: list[dict[str, Any]] = [
        {"sender": ("human", "assistant")[at % 2], "content": [{"type": "text", "text": text}]}
        for at, text in enumerate(SAID)
    ]
    if apart:
        messages[1]["content"].insert(0, {"type": "tool_use", "name": "x", "input": {"q": TOOLS}})
        messages[3]["content"].insert(0, {"type": "tool_result", "content": FOUND})
    return _json([{"uuid": "c", "chat_messages": messages}])


def _langsmith(apart: bool) -> str:
    """LangChain's serialised messages."""
    kinds = {"user": "HumanMessage", "assistant": "AIMessage", "system": "SystemMessage", "tool": "ToolMessage"}
    sent = [
        {
            "lc": 1,
            "id": ["langchain", kinds[message["role"]]],
            "kwargs": {
                "content": message["content"] or "",
                "additional_kwargs": {"tool_calls": message["tool_calls"]} if "tool_calls" in message else {},
            },
        }
        for message in _openai(apart)
        if message["role"] in kinds
    ]
    return _json(
        {
            "run_type": "llm", "start_time": "1", "extra": {"metadata": {"thread_id": "s"}},
            "inputs": {"messages": sent[:-1]}, "outputs": {"generations": [[{"message": sent[-1]}]]},
        }
    )  # fmt: skip


def _langfuse(apart: bool) -> str:
    sent, answered = _calls(apart)
    return _json({"type": "GENERATION", "traceId": "t", "startTime": "1", "input": sent, "output": answered})


def _phoenix(apart: bool) -> str:
    names = {"role": "message.role", "content": "message.content", "tool_calls": "message.tool_calls"}
    messages = [{names[key]: value for key, value in message.items() if key in names} for message in _openai(apart)]
    return _json(
        {
            "context.trace_id": "t", "span_kind": "LLM", "start_time": "1",
            "attributes.llm.input_messages": messages[:-1], "attributes.llm.output_messages": messages[-1:],
        }
    )  # fmt: skip


def _inspect(apart: bool) -> str:
    sample = {"id": 1, "epoch": 1, "messages": _openai(apart)}
    return _json({"version": 2, "eval": {"task": "t", "model": "A"}, "samples": [sample]})


def _deepeval(apart: bool) -> str:
    return _json([{"name": "d", "scenario": "s", "turns": _openai(apart)}])


def _arena(apart: bool) -> str:
    sides = {f"conversation_{side}": _openai(apart) for side in "ab"}
    return _json({"question_id": "q", "model_a": "A", "model_b": "B", "winner": "model_a", **sides})


def _own(apart: bool) -> str:
    turns = [{"role": {"user": "patient", "assistant": "clinician"}.get(who, who), "text": text}
             for who, text in _rows(apart)]  # fmt: skip
    stated = {"provenance": [{"kind": "system", "before": 1, "text": PROMPT}]} if apart else {}
    return _json({"id": "o", "turns": turns, **stated})


def _convokit(apart: bool) -> str:
    return "".join(
        _json({"id": str(at), "conversation_id": "c", "speaker": who, "text": text, "timestamp": at})
        for at, (who, text) in enumerate(_rows(apart))
    )


def _lines(apart: bool) -> str:
    names = {"user": "Patient", "assistant": "Doctor", "system": "System", "tool": "Tool"}
    return "".join(f"{names[who]}: {text}\n" for who, text in _rows(apart))


def _table(apart: bool) -> str:
    return "id,role,content\n" + "".join(f'r,{who},"{text}"\n' for who, text in _rows(apart))


def _cell(apart: bool) -> str:
    cell = json.dumps(_openai(apart)).replace('"', '""')
    return f'id,dialogue\nz,"{cell}"\n'


_FORMS: dict[str, ProvenanceExample] = {
    "arena": ProvenanceExample("arena.json", _arena),
    "batch": ProvenanceExample("requests.jsonl", _batch),
    "cells": ProvenanceExample("cells.csv", _cell),
    "chatgpt": ProvenanceExample("conversations.json", _chatgpt),
    "claude": ProvenanceExample("conversations.json", _claude, ("tools",)),
    "convokit": ProvenanceExample("utterances.jsonl", _convokit),
    "deepeval": ProvenanceExample("cases.json", _deepeval),
    "health_bench": ProvenanceExample(
        "health.jsonl", lambda apart: _json({"prompt_id": "p", "prompt": _openai(apart)})
    ),
    "inspect_log": ProvenanceExample("log.json", _inspect),
    "jsonl": ProvenanceExample("own.jsonl", _own),
    "messages": ProvenanceExample(
        "messages.jsonl", lambda apart: _json({"id": "m", "model": "A", "messages": _openai(apart)})
    ),
    "rows": ProvenanceExample("rows.csv", _table),
    "text": ProvenanceExample("talk.txt", _lines),
    "traces": ProvenanceExample("observations.jsonl", _langfuse),
}
#: Forms without anybody but those who speak, and why.
_WITHOUT = {
    "asr": "speech recognised in a recording",
    "chat": "a recording that was transcribed",
    "docx": "a recording that was transcribed; its lines are those of text",
    "elan": "a recording that was transcribed",
    "exchanges": "a column for each of the two who speak",
    "mdd5k": "a doctor and a patient in each exchange",
    "subtitles": "a recording that was transcribed",
    "textgrid": "a recording that was transcribed",
}


def _anthropic(apart: bool) -> str:
    """A request: the prompt beside the messages, calls of tools as parts."""
    messages: list[dict[str, Any]] = [
        {"role": ("user", "assistant")[at % 2], "content": [{"type": "text", "text": text}]}
        for at, text in enumerate(SAID)
    ]
    if not apart:
        return _json({"model": "A", "max_tokens": 9, "messages": messages})
    messages[1]["content"].append({"type": "tool_use", "name": "x", "input": {"q": TOOLS}})
    messages[2]["content"].insert(0, {"type": "tool_result", "content": FOUND})
    return _json({"model": "A", "max_tokens": 9, "system": PROMPT, "messages": messages})


def _anthropic_blocks(apart: bool) -> str:
    item = json.loads(_anthropic(apart))
    if apart:
        item["system"] = [{"type": "text", "text": PROMPT, "cache_control": {"type": "ephemeral"}}]
    return _json(item)


def _responses(apart: bool) -> str:
    sent = [{"role": ("user", "assistant")[at % 2], "content": text} for at, text in enumerate(SAID[:3])]
    answer = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": SAID[3]}]}
    if not apart:
        return _json({"id": "x", "model": "A", "input": sent, "output": [answer]})
    return _json(
        {
            "id": "x", "model": "A", "instructions": PROMPT,
            "tools": [{"type": "function", "name": TOOLS}],
            "input": [{"role": "developer", "content": PROMPT}, *sent],
            "output": [
                {"type": "reasoning", "summary": []},
                {"type": "function_call", "name": TOOLS, "arguments": "{}", "call_id": "1"},
                {"type": "function_call_output", "output": FOUND, "call_id": "1"},
                answer,
            ],
        }
    )  # fmt: skip


def _sharegpt(apart: bool) -> str:
    said = [{"from": ("human", "gpt")[at % 2], "value": text} for at, text in enumerate(SAID)]
    if not apart:
        return _json([{"id": "s", "conversations": said}])
    said[1:1] = [{"from": "function_call", "value": TOOLS}, {"from": "observation", "value": FOUND}]
    return _json([{"id": "s", "system": PROMPT, "conversations": [{"from": "system", "value": PROMPT}, *said]}])


#: More forms that a reader knows.
_MORE = {
    "messages, Gemini": ProvenanceExample("contents.jsonl", _gemini),
    "traces, LangSmith": ProvenanceExample("runs.jsonl", _langsmith),
    "traces, Phoenix": ProvenanceExample("spans.jsonl", _phoenix),
    "messages, a request of Anthropic": ProvenanceExample("a.jsonl", _anthropic),
    "messages, a request of Anthropic in blocks": ProvenanceExample("a.jsonl", _anthropic_blocks),
    "messages, OpenAI's responses": ProvenanceExample("r.jsonl", _responses),
    "messages, ShareGPT": ProvenanceExample("s.json", _sharegpt),
    "messages, a prompt beside them": ProvenanceExample(
        "p.jsonl",
        lambda apart: _json({"id": "p", **({"system_prompt": PROMPT} if apart else {}), "messages": _openai(apart)}),
    ),
}
EXAMPLES: Mapping[str, ProvenanceExample] = {**_FORMS, **_MORE}
READERS_KNOWN = {*_FORMS, *_WITHOUT}

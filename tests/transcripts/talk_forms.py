"""One talk in many forms, as files have it: for tests that no text of a source is lost or moved."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import polars as pl

from tests.transcripts.files import document, workbook

#: Role and text of each turn; the second word of each is a token that stands nowhere else.
TALK: tuple[tuple[str, str], ...] = (
    ("patient", "My albatross keeps me awake, and I sleep badly."),
    ("clinician", "Your albatross2 worries you. Since when do you sleep badly?"),
    ("patient", "The bittern began in May, when we moved house."),
    ("clinician", "That cormorant must have been hard for you and for your family."),
    ("patient", "My dunnock says that I worry too much about my work."),
    ("clinician", "You egret could walk a little each day, and write down what worries you."),
)
#: The token of each turn.
TOKENS: tuple[str, ...] = tuple(text.split()[1] for _, text in TALK)

Row = dict[str, Any]


@dataclass(frozen=True)
class JsonForm:
    """A form of JSON.

    Attributes:
        name: of the form.
        records: its values.
        lines: whether each stands on a line of its own; else they are the items of an array, or one alone.
        alone: whether the one record is the whole file.
        file: its name.
        options: what has to be said of it.
    """

    name: str
    records: list[Any]
    lines: bool = False
    alone: bool = False
    file: str = "talks.json"
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def content(self) -> bytes:
        """The whole file."""
        return self.written(self.records)

    def written(self, records: Sequence[Any], indent: int | None = None) -> bytes:
        """Records as the file has them."""
        if self.lines:
            return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records).encode()
        whole = records[0] if self.alone else list(records)
        return json.dumps(whole, indent=indent, ensure_ascii=False).encode()


@dataclass(frozen=True)
class TableForm:
    """A form of tables: its rows, and the ending of the file that says how they are written."""

    name: str
    rows: list[Row]
    file: str = "talks.csv"
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def content(self) -> bytes:
        """The whole file."""
        return self.written(self.rows)

    def written(self, rows: Sequence[Row]) -> bytes:
        """Rows as the file has them."""
        return CONTAINERS[self.file.rpartition(".")[2]](rows)


@dataclass(frozen=True)
class TextForm:
    """A form of text.

    Attributes:
        lines: of the file.
        labels: of its speakers, in order of roles: patient, clinician.
        label: how a line with a label is written.
    """

    name: str
    lines: list[str]
    file: str = "talk.txt"
    label: Callable[[str, str], str] | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def content(self) -> bytes:
        """The whole file."""
        return self.written(self.lines)

    def written(self, lines: Sequence[str], end: str = "\n") -> bytes:
        """Lines as the file has them."""
        if self.file.endswith(".docx"):
            return document(*lines)
        return (end.join(lines) + end).encode()


def _names(rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in row))


def _delimited(rows: Sequence[Row], mark: str) -> bytes:
    import csv

    stream = io.StringIO(newline="")
    writer = csv.DictWriter(stream, _names(rows), delimiter=mark)
    writer.writeheader()
    writer.writerows(rows)
    return stream.getvalue().encode()


def _workbook(rows: Sequence[Row]) -> bytes:
    names = _names(rows)
    return workbook([[*names], *([row.get(name) for name in names] for row in rows)])


def _parquet(rows: Sequence[Row]) -> bytes:
    stream = io.BytesIO()
    names = _names(rows)
    pl.DataFrame({name: [row.get(name) for row in rows] for name in names}, strict=False).write_parquet(stream)
    return stream.getvalue()


#: How rows are written, by the ending of the file.
CONTAINERS: Mapping[str, Callable[[Sequence[Row]], bytes]] = {
    "csv": partial(_delimited, mark=","),
    "tsv": partial(_delimited, mark="\t"),
    "xlsx": _workbook,
    "parquet": _parquet,
    "json": lambda rows: json.dumps(list(rows)).encode(),
    "jsonl": lambda rows: "".join(json.dumps(row) + "\n" for row in rows).encode(),
}


def messages(
    speaker: str = "role", text: str = "content", user: str = "user", assistant: str = "assistant", upto: int = 6
) -> list[Row]:
    """The talk as a list of messages."""
    name = {"patient": user, "clinician": assistant}
    return [{speaker: name[role], text: said} for role, said in TALK[:upto]]


def _answer(**beside: Any) -> Row:
    """The talk but for its last turn."""
    return {"id": "a-1", "messages": messages(upto=5), **beside}


_LAST = TALK[-1][1]
_SAID = {"role": "assistant", "content": _LAST}
_GEMINI = [{"role": "user" if role == "patient" else "model", "parts": [{"text": said}]} for role, said in TALK]
_BLOCKS: list[dict[str, Any]] = [
    {"role": "user" if role == "patient" else "assistant", "content": [{"type": "text", "text": said}]}
    for role, said in TALK
]
_CONVERSE = [{**message, "content": [{"text": message["content"][0]["text"]}]} for message in _BLOCKS]
_CHOICES = {"choices": [{"index": 0, "finish_reason": "stop", "message": _SAID}]}
_TIME = "2026-03-01T10:00:00Z"


def _chatgpt() -> Row:
    mapping: Row = {"0": {"parent": None, "children": ["1"], "message": None}}
    for number, message in enumerate(messages(), 1):
        mapping[str(number)] = {
            "parent": str(number - 1),
            "children": [str(number + 1)] if number < len(TALK) else [],
            "message": {
                "author": {"role": message["role"]},
                "content": {"content_type": "text", "parts": [message["content"]]},
                "metadata": {},
            },
        }
    return {"title": "Sleep", "conversation_id": "c-1", "current_node": str(len(TALK)), "mapping": mapping}


def _flat_span(prefix: str, listed: Sequence[Row]) -> Row:
    return {
        f"{prefix}.{number}.{key}": value for number, message in enumerate(listed) for key, value in message.items()
    }


#: Records that are one conversation each, and how to read them where that must be said.
_RECORDS: dict[str, Any] = {
    "openai": {"id": "a-1", "model": "A", "messages": messages()},
    "bare": messages(),
    "sharegpt": {"id": "a-1", "conversations": messages("from", "value", "human", "gpt")},
    "speaker utterance": {"id": "a-1", "dialogue": messages("speaker", "utterance", "Patient", "Doctor")},
    "sender message": {"session_id": "a-1", "conversation": messages("sender", "message", "client", "therapist")},
    "author text": {"id": "a-1", "history": messages("author", "text")},
    "dialogue history": {"dialogue_id": "a-1", "dialogue_history": messages()},
    "nested": {"id": "a-1", "data": {"messages": messages()}},
    "under another key": {"id": "a-1", "chat_log": messages()},
    "anthropic": {"id": "a-1", "model": "A", "system": "You are a kind clinician.", "messages": _BLOCKS},
    "responses": {"id": "a-1", "input": messages(upto=5), "output": [{"type": "message", **_SAID}]},
    "gemini": {"id": "a-1", "contents": _GEMINI},
    "vercel": {
        "id": "a-1",
        "messages": [
            {"id": str(n), "role": m["role"], "parts": [{"type": "step-start"}, {"type": "text", "text": m["content"]}]}
            for n, m in enumerate(messages())
        ],
    },
    "bedrock": {"id": "a-1", "modelId": "A", "messages": _CONVERSE},
    "bedrock log": {
        "requestId": "a-1",
        "modelId": "A",
        "operation": "Converse",
        "input": {"inputBodyJson": {"messages": _CONVERSE[:5]}},
        "output": {"outputBodyJson": {"output": {"message": _CONVERSE[5]}, "stopReason": "end_turn"}},
    },
    "claude": {"uuid": "c-1", "name": "Sleep", "chat_messages": messages("sender", "text", "human")},
    "chatgpt": _chatgpt(),
    "deepeval": {"name": "a-1", "scenario": "A patient sleeps badly.", "turns": messages()},
    "bedside": {"id": "a-1", "turns": [{"role": role, "text": said} for role, said in TALK]},
    "response": _answer(response=_LAST),
    "output": _answer(output=_LAST),
    "completion": _answer(completion=_LAST),
    "answer": _answer(answer=_LAST),
    "model output": _answer(model_output=_LAST),
    "choices": _answer(**_CHOICES),
    "response message": _answer(response=_SAID),
    "response choices": _answer(response=_CHOICES),
    "request and response": {
        "id": "a-1",
        "request": {"model": "A", "messages": messages(upto=5)},
        "response": _CHOICES,
    },
    "request and text": {"id": "a-1", "request": {"messages": messages(upto=5)}, "response": _LAST},
    "input and output": {"id": "a-1", "input": {"messages": messages(upto=5)}, "output": _SAID},
    "gemini pair": {
        "id": "a-1",
        "request": {"contents": _GEMINI[:5]},
        "response": {"candidates": [{"content": _GEMINI[5], "finishReason": "STOP"}]},
    },
    "anthropic pair": {
        "id": "a-1",
        "request": {"model": "A", "max_tokens": 9, "messages": _BLOCKS[:5]},
        "response": {"role": "assistant", "type": "message", "content": _BLOCKS[5]["content"]},
    },
    "inspect-like": {"id": "a-1", "input": messages(upto=5), "output": _CHOICES, "target": "Asks since when."},
    "evals": {
        "run_id": "r",
        "sample_id": "a-1",
        "type": "sampling",
        "data": {"prompt": messages(upto=5), "sampled": _LAST},
    },
    "history and question": {"id": "a-1", "history": messages(upto=4), "question": TALK[4][1], "answer": _LAST},
    "health bench": {
        "prompt_id": "a-1",
        "prompt": messages(upto=5),
        "completion": _LAST,
        "rubrics": [{"criterion": "Asks.", "points": 5}],
    },
    "health bench response": {
        "prompt_id": "a-1",
        "prompt": messages(upto=5),
        "response_text": _LAST,
        "rubrics": [{"criterion": "Asks.", "points": 5}],
    },
    "batch": {
        "custom_id": "a-1",
        "method": "POST",
        "url": "/v1/chat/completions",
        "body": {"model": "A", "messages": messages()},
    },
    "langfuse": {
        "id": "o",
        "traceId": "t",
        "sessionId": "s",
        "type": "GENERATION",
        "startTime": _TIME,
        "model": "A",
        "input": messages(upto=5),
        "output": _SAID,
    },
    "langfuse without a time": {
        "id": "o",
        "traceId": "t",
        "sessionId": "s",
        "type": "GENERATION",
        "model": "A",
        "input": messages(upto=5),
        "output": _SAID,
    },
    "langsmith": {
        "id": "r",
        "trace_id": "t",
        "run_type": "llm",
        "start_time": _TIME,
        "inputs": {"messages": messages(upto=5)},
        "outputs": _CHOICES,
    },
    "phoenix": {
        "context.trace_id": "t",
        "span_kind": "LLM",
        "start_time": _TIME,
        "attributes.session.id": "s",
        "attributes.llm.input_messages": [
            {f"message.{key}": text for key, text in m.items()} for m in messages(upto=5)
        ],
        "attributes.llm.output_messages": [{f"message.{key}": text for key, text in _SAID.items()}],
    },
    "otel": {
        "trace_id": "t",
        "span_id": "s",
        "name": "chat A",
        "start_time": _TIME,
        "attributes": {
            "gen_ai.operation.name": "chat",
            "gen_ai.request.model": "A",
            "gen_ai.input.messages": json.dumps(
                [{"role": m["role"], "parts": [{"type": "text", "content": m["content"]}]} for m in messages(upto=5)]
            ),
            "gen_ai.output.messages": json.dumps(
                [{"role": "assistant", "parts": [{"type": "text", "content": _LAST}], "finish_reason": "stop"}]
            ),
        },
    },
    "otel flat": {
        "trace_id": "t",
        "span_id": "s",
        "name": "chat A",
        "start_time": _TIME,
        "attributes": {
            "gen_ai.system": "openai",
            **_flat_span("gen_ai.prompt", messages(upto=5)),
            **_flat_span("gen_ai.completion", [_SAID]),
        },
    },
    "langchain": {
        "id": "a-1",
        "messages": [
            {"type": "human" if role == "patient" else "ai", "data": {"content": said, "additional_kwargs": {}}}
            for role, said in TALK
        ],
    },
    "langgraph": {
        "id": "a-1",
        "messages": [{"type": "human" if role == "patient" else "ai", "content": said} for role, said in TALK],
    },
    "mlflow": {
        "info": {"trace_id": "t", "request_time": _TIME},
        "request": json.dumps({"messages": messages(upto=5)}),
        "response": json.dumps(_CHOICES),
    },
    "petri": {"metadata": {"transcript_id": "a-1", "target_model": "A"}, "target_messages": messages()},
}
_INSPECT: Row = {
    "version": 2,
    "status": "success",
    "eval": {"task": "sleep", "model": "A"},
    "samples": [
        {"id": 1, "epoch": 1, "input": "", "messages": messages(), "output": _CHOICES, "events": [{"event": "state"}]}
    ],
}
_THOUGHT = {"type": "thinking", "thinking": "He may be anxious."}
_PICTURE = {"type": "image_url", "image_url": {"url": "https://example.org/bed.png"}}
_NODES = _RECORDS["chatgpt"]["mapping"]
#: Records that hold more than the talk, which is left and counted.
_WITH_MORE: dict[str, list[Any]] = {
    "anthropic, thoughts": [
        {
            **_RECORDS["anthropic"],
            "messages": [{**_BLOCKS[0], "content": [*_BLOCKS[0]["content"], _PICTURE]}, *_BLOCKS[1:5],
                         {**_BLOCKS[5], "content": [_THOUGHT, *_BLOCKS[5]["content"]]}],
        }
    ],
    "claude, files": [
        {
            **_RECORDS["claude"],
            "chat_messages": [{**message, "attachments": [{}]} for message in _RECORDS["claude"]["chat_messages"]],
        }
    ],
    "chatgpt, branches": [
        {
            **_RECORDS["chatgpt"],
            "mapping": {**_NODES, "x": {**_NODES["6"], "children": []},
                        "0": {**_NODES["0"], "message": {"author": {"role": "tool"},
                                                         "content": {"content_type": "code", "text": "1"}}}},
        }
    ],
    "langfuse, spans": [
        _RECORDS["langfuse"], {"id": "p", "traceId": "t", "type": "SPAN", "input": None, "output": None},
    ],
}  # fmt: skip
_WHISPER = {
    "language": "en",
    "text": " ".join(said for _, said in TALK),
    "segments": [
        {"start": n, "end": n + 0.9, "text": f" {said}", "speaker": "Doctor" if role == "clinician" else "Patient"}
        for n, (role, said) in enumerate(TALK)
    ],
}
_CONVOKIT: list[Row] = [
    {
        "id": f"u{n}",
        "conversation_id": "a-1",
        "speaker": "client" if role == "patient" else "therapist",
        "text": said,
        "meta": {},
        "reply-to": f"u{n - 1}" if n else None,
        "timestamp": n,
        "vectors": [],
    }
    for n, (role, said) in enumerate(TALK)
]

JSON_FORMS: tuple[JsonForm, ...] = (
    *(
        JsonForm(name, [record], lines=isinstance(record, dict), file="talks.jsonl")
        if isinstance(record, dict)
        else JsonForm(name, [record], alone=True)
        for name, record in _RECORDS.items()
        if name not in ("claude", "chatgpt")
    ),
    *(
        JsonForm(f"{name}, array", [_RECORDS[name]])
        for name in ("openai", "sharegpt", "claude", "chatgpt", "response", "langfuse", "deepeval", "bedside")
    ),
    *(
        JsonForm(f"{name}, alone", [_RECORDS[name]], alone=True)
        for name in ("openai", "gemini", "choices", "anthropic")
    ),
    *(JsonForm(name, records) for name, records in _WITH_MORE.items()),
    JsonForm("inspect", [_INSPECT], alone=True),
    JsonForm("whisper", [_WHISPER], alone=True),
    JsonForm("convokit", _CONVOKIT, lines=True, file="utterances.jsonl"),
)

_ROWS = [
    {"id": "a-1", "turn": n, "speaker": "client" if role == "patient" else "therapist", "text": said}
    for n, (role, said) in enumerate(TALK)
]
_UTTERANCES = [
    {"dialogue_id": "a-1", "role": "user" if role == "patient" else "assistant", "content": said} for role, said in TALK
]
_CELLS = [
    {
        "id": "a-1",
        "dialogue": "\n".join(f"{'Doctor' if role == 'clinician' else 'Patient'}: {said}" for role, said in TALK),
    }
]
_EXCHANGES = [{"id": "a-1", "patient": TALK[n][1], "doctor": TALK[n + 1][1]} for n in (0, 2, 4)]
_GAPS = [
    {"id": "a-1", name: said}
    for name, said in [(name, row[name]) for row in _EXCHANGES for name in ("patient", "doctor")]
]

TABLE_FORMS: tuple[TableForm, ...] = tuple(
    TableForm(f"{name}, {ending}", rows, f"talks.{ending}")
    for name, rows in (
        ("rows", _ROWS),
        ("utterances", _UTTERANCES),
        ("cells", _CELLS),
        ("exchanges", _EXCHANGES),
        ("exchanges with gaps", _GAPS),
    )
    for ending in CONTAINERS
)


def _labelled(pattern: str, patient: str = "Client", clinician: str = "Therapist") -> list[str]:
    name = {"patient": patient, "clinician": clinician}
    return [pattern.format(label=name[role], text=said, n=n) for n, (role, said) in enumerate(TALK)]


def _subtitles(pattern: str, comma: str) -> list[str]:
    lines: list[str] = []
    for n, line in enumerate(_labelled(pattern)):
        lines += [str(n + 1), f"00:00:{n:02}{comma}000 --> 00:00:{n:02}{comma}900", line, ""]
    return lines


TEXT_FORMS: tuple[TextForm, ...] = (
    TextForm("colon", _labelled("{label}: {text}"), label="{}: {}".format),
    TextForm("letters", _labelled("{label}: {text}", "C", "T"), label="{}: {}".format),
    TextForm(
        "paragraphs",
        [part for line in _labelled("{label}: {text}") for part in (line, "")],
        label="{}: {}".format,
    ),
    TextForm("square", _labelled("[{label}] {text}"), label="[{}] {}".format),
    TextForm("round", _labelled("({label}) {text}", "Patient", "Doctor"), label="({}) {}".format),
    TextForm("bold", _labelled("**{label}:** {text}"), file="talk.md", label="**{}:** {}".format),
    TextForm("tab", _labelled("{label}\t{text}"), label="{}\t{}".format),
    TextForm("times", _labelled("[00:0{n}] {label}: {text}"), label="[00:07] {}: {}".format),
    TextForm("document", _labelled("{label}: {text}"), file="talk.docx", label="{}: {}".format),
    TextForm(
        "rev", [part for line in _labelled("{label} (00:0{n}):|{text}") for part in (*line.split("|"), "")]
    ),
    TextForm(
        "whatsapp",
        _labelled("12/05/2024, 10:0{n} - {label}: {text}"),
        label="12/05/2024, 10:09 - {}: {}".format,
    ),
    TextForm(
        "whatsapp, brackets",
        _labelled("[12.05.24, 10:00:0{n}] {label}: {text}"),
        label="[12.05.24, 10:00:09] {}: {}".format,
    ),
    TextForm(
        "own lines",
        [
            part
            for line in _labelled("{label}:|{text}", "Patient", "Doctor")
            for part in (*line.split("|"), "")
        ],
    ),
    TextForm("srt", _subtitles("{label}: {text}", ","), file="talk.srt"),
    TextForm("vtt", ["WEBVTT", "", *_subtitles("<v {label}>{text}</v>", ".")], file="talk.vtt"),
    TextForm("vtt, labels", ["WEBVTT", "", *_subtitles("{label}: {text}", ".")], file="talk.vtt"),
    TextForm(
        "chat",
        [
            "@UTF8",
            "@Begin",
            "@Languages:\teng",
            "@Participants:\tTHE Therapist , CLI Client",
            *_labelled("*{label}:\t{text}", "CLI", "THE"),
            "@End",
        ],
        file="talk.cha",
    ),
    TextForm(
        "chat, tiers",
        [
            "@UTF8",
            "@Begin",
            "@Participants:\tTHE Therapist , CLI Client",
            "@ID:\teng|corpus|CLI|||||Client|||",
            *(part for line in _labelled("*{label}:\t{text}|%com:\tsoftly", "CLI", "THE") for part in line.split("|")),
            "@End",
        ],
        file="talk.cha",
    ),
    TextForm(
        "vtt, notes",
        ["WEBVTT", "", "NOTE as recorded", "", "STYLE", "::cue { color: red }", "",
         *_subtitles("<v {label}>{text}</v>", ".")],
        file="talk.vtt",
    ),
    TextForm(
        "colon, pages",
        ["Page 1", "", *_labelled("{label}: {text}"), "", "Page 2", "---"],
        label="{}: {}".format,
    ),
)  # fmt: skip

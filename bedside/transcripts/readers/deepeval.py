"""DeepEval's conversational test cases."""

from __future__ import annotations

from typing import Any

from bedside.core.errors import InputError
from bedside.core.json_shape import json_kind
from bedside.transcripts.json_source import line_spans
from bedside.transcripts.request_answers import record_reader, record_transcript
from bedside.transcripts.source_file import SourceFile
from bedside.transcripts.transcript import Transcript

# DeepEval writes either spelling.
_SPELLINGS = {
    "expectedOutcome": "expected_outcome",
    "userDescription": "user_description",
    "chatbotRole": "chatbot_role",
    "additionalMetadata": "additional_metadata",
    "mcpServers": "mcp_servers",
    "retrievalContext": "retrieval_context",
    "toolsCalled": "tools_called",
    "userId": "user_id",
}
_REFERENCE = (
    "scenario", "expected_outcome", "user_description", "context", "chatbot_role", "comments", "tags",
    "mcp_servers",
)  # fmt: skip
_SEE = "see bedside show deepeval --kind readers"


def _claims(first: dict[str, Any]) -> bool:
    turns = first.get("turns")
    if not isinstance(turns, list) or not turns:
        return turns == [] and "scenario" in first
    return isinstance(turns[0], dict) and "content" in turns[0]


def _transcript(source: SourceFile, item: Any, where: str, name: str) -> Transcript:
    if not isinstance(item, dict):
        raise InputError(f"a test case must be an object, not {json_kind(item)}", where=where, todo=_SEE)
    case: dict[str, Any] = {_SPELLINGS.get(str(key), str(key)): value for key, value in item.items()}
    if not isinstance(case.get("turns"), list):
        raise InputError("there is no list called 'turns'", where=where, todo=_SEE)
    case["turns"] = [
        {_SPELLINGS.get(key, key): value for key, value in turn.items()} if isinstance(turn, dict) else turn
        for turn in case["turns"]
    ]
    apart = {key: case[key] for key in _REFERENCE if case.get(key)}
    unused = ("name", "multimodal", "voice", *_REFERENCE)
    record = {key: value for key, value in case.items() if key not in unused}
    return record_transcript(source, record, where, case.get("name") or name, reference=apart)


READER = record_reader(
    _claims,
    _transcript,
    name="deepeval",
    title="DeepEval's conversational test cases (JSON)",
    description="One test case or a list, in either spelling: `user` is the patient, `assistant` the clinician.",
    example=(
        '[{"name": "a-1", "scenario": "A patient who sleeps badly.", "turns": [{"role": "assistant", "content": '
        '"What brings you here?"}, {"role": "user", "content": "I sleep badly."}]}]\n'
    ),
    example_name="test_cases.json",
    facts={
        "family": "own",
        "known_by": "`turns` with `content`",
        "turns": "items of `turns`",
        "kept": "`name` as id; metadata as factors; scenario, outcome, context, tags in the reference",
        "left": "parts that are no text; not counted: `multimodal`, `voice`",
        "decided_by": "`--leave-out KEY`",
    },
    endings=(".json", ".jsonl", ".ndjson"),
    spans=line_spans,
    priority=30,
)

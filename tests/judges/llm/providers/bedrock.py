"""Amazon Bedrock's documented behaviours: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html
and its page of errors."""

from __future__ import annotations

import json
from typing import Any

from tests.judges.llm.providers.server import Answer, Call, fitting


def converse(call: Call, text: str | None = None, **parts: Any) -> Answer:
    """A reply of Converse; made to fit the schema unless ``text`` is given. Other parts replace or add fields."""
    tools = call.body.get("toolConfig", {}).get("tools")
    structure = call.body.get("outputConfig", {}).get("textFormat", {}).get("structure")
    block: dict[str, Any] = {"text": fitting(None) if text is None else text}
    if tools and text is None:
        tool = tools[0]["toolSpec"]
        made = json.loads(fitting(tool["inputSchema"]["json"]))
        block = {"toolUse": {"toolUseId": "t", "name": tool["name"], "input": made}}
    elif structure and text is None:
        block = {"text": fitting(json.loads(structure["jsonSchema"]["schema"]))}
    usage = {"inputTokens": 500, "outputTokens": 40, "totalTokens": 540}
    body = {"output": {"message": {"role": "assistant", "content": [block]}}, "stopReason": "end_turn",
            "usage": usage, "metrics": {"latencyMs": 1}, **parts}  # fmt: skip
    return Answer(body)


def error(status: int, code: str, said: str) -> Answer:
    """An error as Amazon's interfaces of this kind (REST, JSON) write it: its code is a header."""
    return Answer({"message": said}, status, {"x-amzn-ErrorType": code})

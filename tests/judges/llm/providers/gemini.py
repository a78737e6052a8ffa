"""The Gemini API's documented behaviours: https://ai.google.dev/gemini-api/docs/troubleshooting and the pages named at
each."""

from __future__ import annotations

from typing import Any

from tests.judges.llm.providers.server import Answer, Call, fitting


def content(call: Call, text: str | None = None, **parts: Any) -> Answer:
    """A generated content (api/generate-content, GenerateContentResponse); made to fit the schema unless ``text`` is
    given. ``candidate`` and ``usage`` add to these objects or replace their fields."""
    settings = call.body.get("generationConfig", {})
    words = fitting(settings.get("responseJsonSchema")) if text is None else text
    candidate = {"content": {"role": "model", "parts": [{"text": words}]}, "finishReason": "STOP", "index": 0,
                 **parts.get("candidate", {})}  # fmt: skip
    usage = {"promptTokenCount": 500, "candidatesTokenCount": 40, "totalTokenCount": 540, **parts.get("usage", {})}
    return Answer({"candidates": [candidate], "usageMetadata": usage, "modelVersion": "gemini", "responseId": "r"})


def blocked(reason: str) -> Answer:
    """What comes of a prompt that is blocked (api/generate-content, PromptFeedback): no candidates."""
    return Answer({"promptFeedback": {"blockReason": reason}, "usageMetadata": {"promptTokenCount": 500}})


def error(code: int, status: str, said: str, *details: dict[str, Any]) -> Answer:
    """An error as Google's interfaces write it (google.rpc.Status)."""
    return Answer({"error": {"code": code, "message": said, "status": status, "details": list(details)}}, code)


def detail(kind: str, **fields: Any) -> dict[str, Any]:
    """One of the details of an error (google.rpc: ErrorInfo, RetryInfo, QuotaFailure)."""
    return {"@type": f"type.googleapis.com/google.rpc.{kind}", **fields}


def over_quota(quota: str, delay: str) -> Answer:
    """A limit that is reached, with how long to wait in the body (google.rpc.RetryInfo)."""
    said = "You exceeded your current quota, please check your plan and billing details."
    failure = detail("QuotaFailure", violations=[{"quotaId": quota}])
    return error(429, "RESOURCE_EXHAUSTED", said, failure, detail("RetryInfo", retryDelay=delay))

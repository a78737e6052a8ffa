"""Azure OpenAI's documented behaviours.

learn.microsoft.com/azure/ai-services/openai: reference, concepts/content-filter, how-to/quota, api-version-lifecycle.
"""

from __future__ import annotations

from tests.judges.llm.providers.server import Answer

_SAFE = {"filtered": False, "severity": "safe"}
#: The prompt was filtered (concepts/content-filter, "The content filter is triggered on the prompt").
FILTERED = Answer(
    {"error": {
        "message": "The response was filtered due to the prompt triggering Azure OpenAI's content management policy. "
        "Please modify your prompt and retry.",
        "type": None, "param": "prompt", "code": "content_filter", "status": 400,
        "innererror": {"code": "ResponsibleAIPolicyViolation", "content_filter_result": {
            "hate": _SAFE, "self_harm": {"filtered": True, "severity": "medium"}, "sexual": _SAFE,
            "jailbreak": {"filtered": False, "detected": False},
        }},
    }},
    400,
)  # fmt: skip
#: What the reply's content filter says beside a choice whose finish_reason is content_filter (the same page).
FILTERED_REPLY = {
    "finish_reason": "content_filter",
    "content_filter_results": {"self_harm": {"filtered": True, "severity": "high"}, "violence": _SAFE},
}
WRONG_KEY = Answer(
    {"statusCode": 401, "message": "Access denied due to invalid subscription key or wrong API endpoint. Make sure to "
     "provide a valid key for an active subscription and use a correct regional API endpoint for your resource."},
    401,
)  # fmt: skip


def error(status: int, code: str, said: str) -> Answer:
    """An error as Azure writes it where it isn't OpenAI's."""
    return Answer({"error": {"code": code, "message": said}}, status)


#: A rate limit (how-to/quota).
LIMITED = Answer(
    error(
        429, "429", "Requests have exceeded call rate limit of your current pricing tier. Retry after 1 second."
    ).body,
    429,
    {"retry-after-ms": "200", "Retry-After": "1", "x-ratelimit-remaining-requests": "0"},
)

"""Azure OpenAI's documented behaviours.

learn.microsoft.com/azure/ai-services/openai: reference, concepts/content-filter, how-to/quota, api-version-lifecycle.
"""

from __future__ import annotations

from tests.judges.llm.providers.server import Answer, Call

#: The prompt was filtered (concepts/content-filter, "The content filter is triggered on the prompt").
FILTERED = Answer(
    {
        "error": {
            "message": "The response was filtered due to the prompt triggering Azure OpenAI's content management "
            "policy. Please modify your prompt and retry.",
            "type": None,
            "param": "prompt",
            "code": "content_filter",
            "status": 400,
            "innererror": {
                "code": "ResponsibleAIPolicyViolation",
                "content_filter_result": {
                    "hate": {"filtered": False, "severity": "safe"},
                    "self_harm": {"filtered": True, "severity": "medium"},
                    "sexual": {"filtered": False, "severity": "safe"},
                    "jailbreak": {"filtered": False, "detected": False},
                },
            },
        }
    },
    400,
)
#: What the reply's content filter says beside a choice whose finish_reason is content_filter (the same page).
FILTERED_REPLY = {
    "finish_reason": "content_filter",
    "content_filter_results": {
        "self_harm": {"filtered": True, "severity": "high"},
        "violence": {"filtered": False, "severity": "low"},
    },
}
WRONG_KEY = Answer(
    {
        "statusCode": 401,
        "message": "Access denied due to invalid subscription key or wrong API endpoint. Make sure to provide a valid "
        "key for an active subscription and use a correct regional API endpoint for your resource.",
    },
    401,
)
NO_DEPLOYMENT = Answer(
    {
        "error": {
            "code": "DeploymentNotFound",
            "message": "The API deployment for this resource does not exist.",
        }
    },
    404,
)
NETWORK = Answer(
    {"error": {"code": "403", "message": "Access denied due to Virtual Network/Firewall rules."}}, 403
)


def limited(call: Call) -> Answer:
    """A rate limit (how-to/quota)."""
    said = "Requests have exceeded call rate limit of your current pricing tier. Please retry after 1 second."
    headers = {"retry-after-ms": "200", "Retry-After": "1", "x-ratelimit-remaining-requests": "0"}
    return Answer({"error": {"code": "429", "message": said}}, 429, headers)

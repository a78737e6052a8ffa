"""The reply of a provider that says by name why a model stopped."""

from __future__ import annotations

from bedside.judges.llm.protocol import NotAskableError, Reply, TokenCounts, UnusableError

#: Where the model's own window was full, in the words of Anthropic, and of Bedrock, which has them from there.
_WINDOW_FULL = "model_context_window_exceeded"


def finished_reply(text: str, ending: str | None, counts: TokenCounts, max_tokens: int) -> Reply:
    """The reply, by how it ended.

    Args:
        text: what the model said.
        ending: why it stopped.
        counts: tokens that it took.
        max_tokens: most tokens of a reply.

    Raises:
        NotAskableError: the prompt filled the model's window.
        UnusableError: the model said nothing.
    """
    if ending == _WINDOW_FULL and not text.strip():
        raise NotAskableError("the prompt leaves no room for a reply in what the model takes in")
    cut = ending in ("max_tokens", _WINDOW_FULL)
    if not text.strip():
        ended = f" within {max_tokens} tokens, thinking included" if cut else ""
        raise UnusableError(f"the reply is empty{ended}", "", **counts)
    return Reply(text, **counts, cut=cut)

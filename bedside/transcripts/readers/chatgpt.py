"""ChatGPT's export of a person's conversations (``conversations.json``)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from bedside.core.errors import InputError
from bedside.core.json_shape import json_kind
from bedside.transcripts.message_lists import PICTURES
from bedside.transcripts.request_answers import record_reader, record_transcript
from bedside.transcripts.source_file import SourceFile
from bedside.transcripts.transcript import Transcript

_SEE = "see bedside show chatgpt"
#: Contents that were shown to the person.
_SAID = ("text", "multimodal_text")


def _transcript(source: SourceFile, item: Any, where: str, name: str) -> Transcript:
    nodes = item.get("mapping") if isinstance(item, dict) else None
    if not isinstance(nodes, dict):
        raise InputError("there is no object called 'mapping'", where=where, todo=_SEE)
    path = _path(nodes, item.get("current_node"), where)
    messages = [message for node in path if (message := _message(source, node, where)) is not None]
    aside = sum(1 for node in nodes.values() if isinstance(node, dict) and node.get("message")) - sum(
        1 for node in path if node.get("message")
    )
    if aside:
        source.account.left_out["messages of answers that were replaced by others"] += aside
    models = {str(slug) for node in path if (slug := _inner(node, "metadata").get("model_slug"))}
    apart = ("mapping", "current_node", "conversation_id", "id", "title")
    title = item.get("title")
    return record_transcript(
        source,
        {"messages": messages, **{key: value for key, value in item.items() if key not in apart}},
        where,
        name,
        id=item.get("conversation_id") or item.get("id") or name,
        system=models.pop() if len(models) == 1 else None,
        reference={"title": title} if title and isinstance(title, str) else {},
        rest=filter(_is_shown, path),
    )


def _path(nodes: dict[str, Any], last: Any, where: str) -> list[dict[str, Any]]:
    """The nodes from the first to the last that was shown: a question asked anew begins another branch."""
    if last is None:
        leaves = [key for key, node in nodes.items() if isinstance(node, dict) and not node.get("children")]
        last = leaves[-1] if leaves else None
    path: list[dict[str, Any]] = []
    while last is not None:
        node = nodes.get(last) if isinstance(last, str) else None
        if not isinstance(node, dict) or len(path) > len(nodes):
            raise InputError("the conversation's nodes don't hang together", where=where, todo=_SEE)
        path.append(node)
        last = node.get("parent")
    return path[::-1]


def _inner(node: dict[str, Any], key: str) -> dict[str, Any]:
    """An object of a node's message; empty where it is none."""
    message = node.get("message")
    value = message.get(key) if isinstance(message, dict) else None
    return value if isinstance(value, dict) else {}


def _is_shown(node: dict[str, Any]) -> bool:
    """Whether a node's message is text that the person saw."""
    hidden = _inner(node, "metadata").get("is_visually_hidden_from_conversation")
    return not hidden and _inner(node, "content").get("content_type") in _SAID


def _text(part: Any) -> str | None:
    """A part's text, of speech what was heard; None of pictures and sounds."""
    heard = isinstance(part, dict) and part.get("content_type") == "audio_transcription"
    text = part.get("text") if heard else part
    return text if isinstance(text, str) else None


def _message(source: SourceFile, node: dict[str, Any], where: str) -> dict[str, Any] | None:
    """A node's message as one of role and content; None where nothing was shown."""
    message = node.get("message")
    if message is None:
        return None
    parts_of = message if isinstance(message, dict) else {}
    content, author = parts_of.get("content"), parts_of.get("author")
    if not isinstance(content, dict) or not isinstance(author, dict):
        raise InputError(
            f"a message must have an author and a content, not {json_kind(message)}", where=where, todo=_SEE
        )
    if not _is_shown(node):
        source.account.left_out["messages that are no text (thoughts, code, calls of tools)"] += 1
        return None
    parts = content.get("parts")
    texts = [text for part in parts if (text := _text(part)) is not None] if isinstance(parts, list) else []
    if isinstance(parts, list) and len(texts) < len(parts):
        source.account.left_out[PICTURES] += len(parts) - len(texts)
    for part in texts[1:] if content.get("content_type") == "text" else ():
        source.check_unread("parts", part, where)
    text = "\n".join(texts)
    if not text.strip():
        return None
    time = message.get("create_time")
    said = {"role": author.get("role"), "content": text}
    if isinstance(time, int | float) and 0 <= time < 1e11:
        said["time"] = datetime.fromtimestamp(time, UTC).isoformat(timespec="seconds")
    return said


READER = record_reader(
    lambda first: isinstance(first.get("mapping"), dict),
    _transcript,
    name="chatgpt",
    title="ChatGPT's export (conversations.json)",
    description="ChatGPT's data export, a transcript a conversation: `user` is the patient, `assistant` the clinician.",
    example=(
        '[{"title": "Sleep", "conversation_id": "c-1", "current_node": "3", "mapping": {"1": {"parent": null, '
        '"children": ["2"], "message": null}, "2": {"parent": "1", "children": ["3"], "message": {"author": {"role": '
        '"user"}, "content": {"content_type": "text", "parts": ["I sleep badly."]}, "metadata": {}}}, "3": {"parent": '
        '"2", "children": [], "message": {"author": {"role": "assistant"}, "content": {"content_type": "text", '
        '"parts": ["Since when?"]}, "metadata": {"model_slug": "gpt-5"}}}}}]\n'
    ),
    example_name="conversations.json",
    facts={
        "family": "logs",
        "known_by": "`mapping` of nodes",
        "turns": "messages of the branch shown last",
        "kept": "id, times, the model as system where there is one, the title",
        "left": "replaced answers, thoughts, code, calls of tools, pictures",
        "decided_by": "`--leave-out KEY`",
    },
    endings=(".json",),
)

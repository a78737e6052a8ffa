"""ChatGPT's export of a person's conversations (``conversations.json``)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, Literal

from bedside.support.errors import InputError
from bedside.support.json_shape import json_kind
from bedside.transcripts.contract import Head, Reader
from bedside.transcripts.message_lists import MODEL_SPEAKERS, PICTURES, leave_rest
from bedside.transcripts.request_answers import fields_of, record_transcript, talks
from bedside.transcripts.source_file import SourceFile
from bedside.transcripts.transcript import Transcript

_SEE = "see bedside readers show chatgpt"
#: Contents that were shown to the person.
_SAID = ("text", "multimodal_text")


def _claims(head: Head) -> Literal["transcripts", "companion"] | None:
    first = head.first
    return "transcripts" if isinstance(first, dict) and isinstance(first.get("mapping"), dict) else None


def _read(source: SourceFile) -> Iterator[Transcript]:
    source.aliases = MODEL_SPEAKERS
    return source.json_transcripts(_transcript)


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
    models = {str(node["message"]["metadata"].get("model_slug")) for node in path if _model(node)}
    apart = ("mapping", "current_node", "conversation_id", "id", "title")
    rest = {key: value for key, value in item.items() if key not in apart}
    (talk,) = talks(source, {"messages": messages, **rest}, where)
    fields = fields_of(source, talk, where)
    if item.get("title") and isinstance(item["title"], str):
        fields["reference"]["title"] = item["title"]
    fields["id"] = item.get("conversation_id") or item.get("id") or name
    fields["system"] = models.pop() if len(models) == 1 else None
    transcript = record_transcript(source, talk, where, name, fields)
    leave_rest(source, (node for node in path if _is_shown(node)), transcript, where)
    return transcript


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


def _model(node: dict[str, Any]) -> bool:
    message = node.get("message")
    meta = message.get("metadata") if isinstance(message, dict) else None
    return isinstance(meta, dict) and bool(meta.get("model_slug"))


def _is_shown(node: dict[str, Any]) -> bool:
    """Whether a node's message is text that the person saw."""
    message = node.get("message") or {}
    meta, content = message.get("metadata"), message.get("content")
    hidden = isinstance(meta, dict) and meta.get("is_visually_hidden_from_conversation")
    return not hidden and isinstance(content, dict) and content.get("content_type") in _SAID


def _message(source: SourceFile, node: dict[str, Any], where: str) -> dict[str, Any] | None:
    """A node's message as one of role and content; None where nothing was shown."""
    message = node.get("message")
    if message is None:
        return None
    content = message.get("content") if isinstance(message, dict) else None
    author = message.get("author") if isinstance(message, dict) else None
    if not isinstance(content, dict) or not isinstance(author, dict):
        raise InputError(
            f"a message must have an author and a content, not {json_kind(message)}", where=where, todo=_SEE
        )
    if not _is_shown(node):
        source.account.left_out["messages that are no text (thoughts, code, calls of tools)"] += 1
        return None
    parts = content.get("parts")
    texts = [part for part in parts if isinstance(part, str)] if isinstance(parts, list) else []
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


READER = Reader(
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
    claims=_claims,
    read=_read,
    priority=20,
)

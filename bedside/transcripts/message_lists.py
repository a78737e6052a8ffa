"""Messages of conversations with language models, in whatever shape a provider, a library or a service writes them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import orjson

from bedside.core.errors import InputError
from bedside.core.json_shape import json_kind
from bedside.transcripts.labelled_text import check_quoted
from bedside.transcripts.role_evidence import MODELS, USERS, check_roles
from bedside.transcripts.row_order import in_order
from bedside.transcripts.transcript import PROVENANCE_SPEAKERS, Dialogue, Role, Transcript, plain_name, role_of
from bedside.transcripts.transcript_maker import check_nesting, is_deeper
from bedside.transcripts.transcription_tags import THOUGHTS

if TYPE_CHECKING:
    from bedside.transcripts.source_file import SourceFile

#: Names of speakers in files of language models' messages.
MODEL_SPEAKERS: Mapping[str, Role] = {
    **dict.fromkeys(USERS, "patient"),
    **dict.fromkeys(MODELS, "clinician"),
    **dict.fromkeys(PROVENANCE_SPEAKERS, "other"),
}

SPEAKER_KEYS = ("role", "from", "speaker", "sender", "author")
TEXT_KEYS = ("content", "value", "message", "text", "utterance", "parts")
_SPEAKER_KEYS, _TEXT_KEYS = frozenset(SPEAKER_KEYS), frozenset(TEXT_KEYS)

#: What the account calls parts that hold no text, and messages that hold nothing.
PICTURES = "pictures, sound and files within messages"
EMPTY = "empty messages"
#: Types of thoughts, and keys of a message or a part that hold one.
_THINKING = ("thinking", "redacted_thinking", "reasoning", "thought")
_THOUGHT_KEYS = frozenset(("reasoning_content", "reasoning", "reasoning_details", "thinking", "reasoningContent"))
#: Ends of the types of parts that call a tool or bring what it gave, and keys of such parts that have no type.
_TOOLS = ("tool_use", "tool_result", "_call", "_call_output", "tool_response", "tool_call_response")
_TOOL_KEYS = frozenset(
    ("functionCall", "functionResponse", "executableCode", "codeExecutionResult", "function_call",
     "function_response", "executable_code", "code_execution_result", "toolUse", "toolResult", "toolCallId")
)  # fmt: skip
#: Keys of what a message calls.
_CALLS = ("tool_calls", "function_call")
#: Keys of a part's text, in the order they are looked for; a refusal is what the model said.
_PART_TEXTS = ("text", "refusal", "content", "message_content")
#: Kinds of parts that are no words, and keys of such parts that have no type.
_UNSAID = frozenset(
    """
    step-start image image_url input_image input_audio audio output_audio video video_url file input_file document
    media blob uri inlinedata filedata inline_data file_data source-url source_url cachepoint guardcontent
    computer_screenshot container_upload
    """.split()
)  # fmt: skip
#: Kinds of parts that are words within a line: their form only is another.
_INLINE = frozenset(
    """
    bold italic underline strikethrough strike code pre emphasis em strong plain link text_link a mention mention_name
    hashtag cashtag email phone phone_number spoiler custom_emoji bot_command blockquote
    """.split()
)
#: Keys of what such a part is called or shows.
_NAMES = frozenset("name filename fileName display_name displayName title alt alt_text caption url uri".split())
#: Keys under which an object holds messages or the text of one, from the outermost in.
_INNER = (
    "messages", "contents", "choices", "candidates", "generations", "completions", "outputs", "results", "response",
    "responses", "result", "body", "outputBodyJson", "output", "message", "delta", "kwargs", "content", "parts",
    "input", "prompt", "sampled", "generation", "completion", "generated_text", "outputText", "answer", "text",
)  # fmt: skip
#: Of these, lists of which each item is another answer to the same question.
_ALTERNATIVES = frozenset(("choices", "candidates", "generations", "completions", "responses", "sampled", "results"))
#: How many levels of objects, lists and texts of JSON are looked into.
_DEPTH = 20
#: LangChain's names of who speaks.
_LANGCHAIN = {"human": "user", "ai": "assistant", "system": "system", "tool": "tool", "function": "tool"}
#: Keys of LangChain's messages that are told of elsewhere.
_OF_LANGCHAIN = frozenset(("type", "lc", "id", "kwargs", "data", "content", "additional_kwargs"))
#: Keys whose texts say nothing of a conversation: marks of a call, and definitions and calls of tools, which are kept.
_MARKS = frozenset(
    """
    signature logprobs usage token_ids thoughtSignature tools functions definitions tool_choice response_format
    tool_calls function_call
    """.split()
)
#: Keys beside role and content by which a message may say something else than its content.
_TOLD_APART = _THOUGHT_KEYS.union(TEXT_KEYS[1:], _CALLS, ("type", "thought", "isThought", "refusal"))
_ROLE, _CONTENT = itemgetter("role"), itemgetter("content")
_WORDS = re.compile(r"\S\s+\S|[\u0e00-\u0e7f\u3040-\u30ff\u4e00-\u9fff]")


def is_message(value: Any) -> bool:
    """Whether a JSON value is an object that names a speaker and holds a text."""
    if not isinstance(value, dict):
        return False
    if not _SPEAKER_KEYS.isdisjoint(value) and not _TEXT_KEYS.isdisjoint(value):
        return True
    return _of_langchain(value) is not None or "message.role" in value


def is_thought(part: Any) -> bool:
    """Whether a part is what a model thought and didn't say."""
    return isinstance(part, dict) and (
        part.get("type") in _THINKING
        or part.get("thought") is True
        or part.get("isThought") is True
        or "reasoningContent" in part
    )


def is_of_tools(part: Any) -> bool:
    """Whether an object calls a tool or brings what it gave."""
    if not isinstance(part, dict):
        return False
    kind = part.get("type")
    if isinstance(kind, str):
        kind = kind.replace("-", "_")
        if kind.endswith(_TOOLS) or kind.startswith(("tool_", "dynamic_tool")):
            return True
    return not _TOOL_KEYS.isdisjoint(part) and "role" not in part


def side_of(speaker: Any) -> Role | None:
    """The side that a message's speaker is of by his name alone; ``other`` of systems and tools, None if unknown."""
    if not isinstance(speaker, str):
        return None
    return MODEL_SPEAKERS.get(plain_name(speaker)) or role_of(speaker)


def speaker_of(message: Any) -> Any:
    """Who says a message; None where that is not told."""
    keys = SPEAKER_KEYS if isinstance(message, dict) else ()
    return next((message[key] for key in keys if key in message), None)


# -- from any object to messages ------------------------------------------------------------------------


class SeveralAnswersError(Exception):
    """An object holds several answers to one question.

    Attributes:
        path: the keys that lead to them.
        number: how many there are.
    """

    def __init__(self, path: tuple[str, ...], number: int) -> None:
        self.path = path
        self.number = number
        super().__init__()


def messages_in(value: Any, role: str, path: tuple[str, ...] = (), depth: int = _DEPTH) -> list[dict[str, Any]]:
    """The messages of a request to a language model, or of an answer, as objects of role and content.

    Whatever OpenAI, Anthropic, Gemini, Bedrock, LangChain, OpenInference and OpenTelemetry write, JSON within text,
    pairs of texts, and a lone text.

    Args:
        value: what was sent or answered.
        role: whose a text is that names nobody.
        path: the keys that led to it, for what is raised.
        depth: how many levels are looked into.

    Raises:
        SeveralAnswersError: it holds several answers that differ.
    """
    if isinstance(value, str):
        loaded = loaded_json(value)
        if loaded is None:
            return [{"role": role, "content": value}] if value.strip() else []
        value = loaded
    if depth == 0 or not isinstance(value, dict | list):
        return []
    if isinstance(value, list):
        if value and all(map(is_pair, value)):
            return [
                {"role": who, "content": text}
                for pair in value
                for who, text in zip(("user", "assistant"), pair, strict=True)
                if text
            ]
        if any(map(is_message, value)):
            # A text among messages is nobody's, and whoever makes turns of them says so.
            value = [
                {"role": None, "content": part} if isinstance(part, str) and part.strip() else part for part in value
            ]
        return [
            message
            for number, part in enumerate(value)
            for message in messages_in(part, role, (*path, str(number)), depth - 1)
        ]
    message = plain_message(value, role)
    if message is not None:
        return [message]
    key = next((key for key in _INNER if value.get(key)), None)
    if key is None:
        return []
    inner, below = value[key], (*path, key)
    if isinstance(inner, list):
        texts = role == "assistant" and all(isinstance(part, str) for part in inner)
        if texts or (key in _ALTERNATIVES and len(inner) > 1):
            found = [messages_in(part, role, (*below, str(at)), depth - 1) for at, part in enumerate(inner)]
            given = [messages for messages in found if messages] or [[]]
            if any(messages != given[0] for messages in given):
                raise SeveralAnswersError(below, len(given))
            return given[0]
        if key in ("content", "parts") and not any(map(is_message, inner)):
            return [{"role": role, "content": inner}]
    return messages_in(inner, role, below, depth - 1)


def loaded_json(text: str) -> Any:
    """The JSON object or list that a text is; None where it is none, or too deep to be one that was written as data."""
    if text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    return None if is_deeper(value) else value


def is_pair(value: Any) -> bool:
    """Whether a value is a question and its answer, two texts."""
    return isinstance(value, list) and len(value) == 2 and all(isinstance(text, str | None) for text in value)


def plain_message(value: dict[str, Any], role: str) -> dict[str, Any] | None:
    """An object that is a message, as one of role and content; None where it is none."""
    if "role" in value and "content" in value:
        return value
    said = _of_langchain(value)
    if said is not None:
        speaker, kept = said
        beside = kept.get("additional_kwargs")
        more: dict[str, Any] = {}
        for each in (value, kept, beside if isinstance(beside, dict) else {}):
            more |= {key: part for key, part in each.items() if key not in _OF_LANGCHAIN and not more.get(key)}
        return {"role": speaker, "content": kept.get("content"), **more}
    if "message.role" in value:
        return {key.removeprefix("message."): part for key, part in value.items()}
    if isinstance(value.get("contents"), list) and "role" in value:
        return {"content" if key == "contents" else key: part for key, part in value.items()}
    if is_thought(value) or is_of_tools(value):
        return value
    if value.get("type") in ("text", "output_text", "input_text") and ("text" in value or "content" in value):
        return {"role": role, "content": [value]}
    if "parts" in value and "role" not in value and isinstance(value["parts"], list):
        return {**value, "role": role}
    return value if isinstance(speaker_of(value), str) and is_message(value) else None


def _of_langchain(value: dict[str, Any]) -> tuple[str, dict[str, Any]] | None:
    """Who speaks in a message that LangChain wrote, and the object that holds its content; None where it is none."""
    kind = value.get("type")
    name = value.get("id")
    if "lc" in value and isinstance(value.get("kwargs"), dict) and isinstance(name, list) and name:
        kind, kept = str(name[-1]).casefold().removesuffix("chunk").removesuffix("message"), value["kwargs"]
    elif isinstance(kind, str) and isinstance(value.get("data"), dict):
        kept = value["data"]
    elif isinstance(kind, str) and "content" in value and "role" not in value:
        kept = value
    else:
        return None
    plain = kind.casefold().removesuffix("chunk").removesuffix("message")
    return (_LANGCHAIN[plain], kept) if plain in _LANGCHAIN and "content" in kept else None


def message_key(message: dict[str, Any]) -> tuple[str, bytes]:
    """What a message is known by in another record, where thoughts and calls may be left out or written otherwise."""
    message = plain_message(message, "") or message
    content = _content(message)
    if isinstance(content, list):
        parts = [part for part in content if not is_thought(part) and not is_of_tools(part)]
        content = [(_text_of_part(part) or ("", part))[1] if isinstance(part, dict) else part for part in parts]
        if all(isinstance(text, str) for text in content):
            content = "\n".join(content)
    who = speaker_of(message)
    return side_of(who) or repr(who), orjson.dumps(content.strip() if isinstance(content, str) else content)


def is_empty(message: dict[str, Any]) -> bool:
    """Whether a message says nothing and calls nothing."""
    message = plain_message(message, "") or message
    if is_thought(message) or is_of_tools(message) or any(message.get(key) for key in _CALLS):
        return False
    content = _content(message)
    return not content or (isinstance(content, str) and content.isspace())


def _content(message: Mapping[str, Any]) -> Any:
    """What a message says, or the model's refusal, or what was heard of it."""
    said = next((message[key] for key in TEXT_KEYS if message.get(key)), message.get("refusal"))
    sound = message.get("audio")
    return said or (sound.get("transcript") if isinstance(sound, dict) else None) or ""


def _is_inline(part: Any) -> bool:
    """Whether a part is words within a line."""
    kind = part.get("type") if isinstance(part, dict) else None
    return isinstance(kind, str) and kind in _INLINE


def _text_of_part(part: Mapping[str, Any]) -> tuple[str, str] | None:
    """The key of a part's text, and the text; None where it has none. What is heard may stand beside, as text."""
    if isinstance(heard := part.get("transcript"), str) and heard.strip():
        return "transcript", heard
    if part.get("type", "text") not in ("text", "output_text", "input_text", "refusal") and not _is_inline(part):
        return None
    if isinstance(held := part.get("text"), dict) and isinstance(held.get("value"), str):
        return "text", held["value"]
    return next(((key, part[key]) for key in _PART_TEXTS if isinstance(part.get(key), str)), None)


# -- from messages to turns -----------------------------------------------------------------------------

#: Speaker, text and what else is known of what becomes a turn or stands beside the turns.
_Entry = tuple[Any, Any, dict[str, Any]]


def message_turns(source: SourceFile, messages: list[Any], where: str) -> Dialogue:
    """Checked turns of messages between a user and a language model.

    Raises:
        InputError: a message is none, or its speaker is not known.
        AmbiguousError: the model may play the patient, or a part of a message would be lost that may have been said.
    """
    metas: list[dict[str, Any]] | None = None
    try:
        # Most files have these two keys and no more.
        speakers, texts = list(map(_ROLE, messages)), list(map(_CONTENT, messages))
        plain = {*map(len, messages)} == {2} and {*map(type, texts)} == {str}
    except (KeyError, TypeError):
        plain = False
    if not plain:
        said = (_entries(source, message, f"{where}, turn {at}") for at, message in enumerate(messages))
        speakers, texts, metas = _columns([entry for entries in said for entry in entries])
    if metas and (varying := _varying(metas)):
        rows = [(str(at), [str(meta[key]) for key in varying]) for at, meta in enumerate(metas)]
        places = {key: at for at, key in enumerate(varying)}
        order = [int(at) for at, _ in in_order(source, rows, places, is_table=False)]
        speakers, texts, metas = ([each[at] for at in order] for each in (speakers, texts, metas))
    if source.options.leave_out:
        # What is left out still tells whom the model plays.
        named = [speaker if isinstance(speaker, str) else "" for speaker in speakers]
        check_roles(named, texts, source.options.roles, where)
        out = {name for name in speakers if isinstance(name, str) and name and source.options.leaves_out(name)}
        kept = []
        for at, entry in enumerate(zip(speakers, texts, metas or repeat({}), strict=False)):
            if isinstance(entry[0], str) and entry[0] in out:
                source.check_unread(entry[0], str(entry[1]), f"{where}, turn {at}")
            else:
                kept.append(entry)
        speakers, texts, metas = _columns(kept)
    dialogue = source.turns(speakers, texts, where, metas)
    check_quoted(source, dialogue, where)
    return dialogue


def _varying(metas: Sequence[Mapping[str, Any]]) -> list[str]:
    """What is known of each of several messages, as a single value, and isn't the same of all."""
    return [
        key
        for key, first in metas[0].items()
        if all(isinstance(meta.get(key), str | int | float) for meta in metas)
        and any(meta[key] != first for meta in metas)
    ]


def _columns(entries: list[_Entry]) -> tuple[list[Any], list[Any], list[dict[str, Any]]]:
    speakers, texts, metas = map(list, zip(*entries, strict=True)) if entries else ([], [], [])
    return speakers, texts, metas


def _entries(source: SourceFile, message: Any, where: str) -> list[_Entry]:
    """What a message says, and what it calls; nothing where nothing was said."""
    if not isinstance(message, dict):
        raise InputError(
            f"a message must be an object, not {json_kind(message)}", where=where, todo="give role and content"
        )
    if message.get("role") and type(message.get("content")) is str and _TOLD_APART.isdisjoint(message):
        # Most have a text, and marks that are single values.
        meta = {key: value for key, value in message.items() if value is not None and value != ""}
        speaker, text = meta.pop("role"), meta.pop("content", "")
        if text:
            _check_within(source, meta, where)
            return [(speaker, text, _timed(meta, where))]
    message = plain_message(message, "") or message
    if is_thought(message):
        source.account.left_out[THOUGHTS] += 1
        return []
    if _SPEAKER_KEYS.isdisjoint(message) and is_of_tools(message):
        # OpenAI's responses have calls and what they gave among the messages.
        return [("tool", _dumped(message, where), {})]
    meta = {key: value for key, value in message.items() if value is not None and value != ""}
    speaker = next((meta.pop(key) for key in SPEAKER_KEYS if key in meta), None)
    for key in _THOUGHT_KEYS.intersection(meta):
        source.account.left_out[THOUGHTS] += bool(meta.pop(key))
    held = [key for key in TEXT_KEYS if key in meta]
    key = next((key for key in held if isinstance(meta[key], list) and meta[key]), (*held, "refusal")[0])
    text = meta.pop(key, message.get(key))
    if not text and isinstance(meta.get("audio"), dict):
        text = [meta.pop("audio")]
    called: list[Any] = []
    if isinstance(text, dict):
        text = text["parts"] if isinstance(text.get("parts"), list) else [text]
    if isinstance(text, list):
        texts, called, unsaid = _parts(source, text, meta, where)
        text = ("" if any(map(_is_inline, text)) else "\n").join(texts)
        if not text and not called and unsaid:
            return []
    for other in (*TEXT_KEYS, "refusal"):
        # A message that has its text twice, in parts and whole.
        if isinstance(meta.get(other), str) and isinstance(text, str) and meta[other].strip() == text.strip():
            del meta[other]
        elif isinstance(meta.get(other), str) and isinstance(text, str) and text:
            source.check_unread(other, meta.pop(other), where)
    if text is None and _TEXT_KEYS.isdisjoint(message) and any(isinstance(part, dict) for part in meta.values()):
        # Google AI Studio has pictures and files among the messages.
        _parts(source, [meta], {}, where)
        return []
    calls = [part for part in (called, *(meta.pop(key, None) for key in _CALLS)) if part]
    _check_within(source, meta, where)
    meta = _timed(meta, where)
    # What a model calls is said to no party, but what it did must not vanish.
    done: list[_Entry] = [("tool", _dumped(part, where), {} if text else meta) for part in calls]
    return [(speaker, text, meta), *done] if text or not calls else done


def _check_within(source: SourceFile, meta: dict[str, Any], where: str) -> None:
    """An error for messages that stand within a message, as replies do in a tree."""
    for key in [key for key, value in meta.items() if type(value) is list]:
        if any(map(is_message, meta[key])):
            for path, text in texts_in(meta.pop(key)):
                source.check_unread(key, text, f"{where}, {path}")


def _timed(meta: dict[str, Any], where: str) -> dict[str, Any]:
    """What is known of a message, with its time under its name.

    Raises:
        InputError: it is nested too deep.
    """
    if "timestamp" in meta and "time" not in meta:
        meta["time"] = meta.pop("timestamp")
    if meta:
        check_nesting(meta, where)
    return meta


def _dumped(part: Any, where: str) -> str:
    if isinstance(part, dict | list):
        check_nesting(part, where)
    return orjson.dumps(part).decode()


def _parts(source: SourceFile, parts: list[Any], meta: dict[str, Any], where: str) -> tuple[list[str], list[Any], bool]:
    """The texts of a message's parts, the parts that call a tool or bring what it gave, and whether there are others,
    which are counted; what else is known of a text goes to ``meta``."""
    texts: list[str] = []
    calls: list[Any] = []
    left_out = source.account.left_out
    unsaid = typed = False
    ahead = parts[::-1]
    while ahead:
        part = ahead.pop()
        if isinstance(part, str) and typed:
            # Behind objects with a text, a lone one may be a stranger's.
            source.check_unread("untyped part", part, where)
        elif isinstance(part, str):
            texts.append(part)
        elif is_thought(part):
            unsaid = True
            left_out[THOUGHTS] += 1
        elif is_of_tools(part):
            calls.append(part)
        elif not isinstance(part, dict):
            raise InputError(
                f"a part of the content is not text but {json_kind(part)}",
                where=where,
                todo="only parts that are text can be read",
            )
        elif (said := _text_of_part(part)) is not None:
            typed = typed or not _is_inline(part)
            texts.append(said[1])
            for key, value in part.items():
                if key not in ("type", "data", "audio", said[0]) and value not in (None, "", [], {}):
                    meta.setdefault(key, value)
        elif isinstance(part.get("message_content"), dict):
            ahead.append(part["message_content"])
        else:
            kind = str(part.get("type") or next(iter(part), "part"))
            unsaid_kind = kind.casefold() in _UNSAID
            for path, text in texts_in(part):
                # Of a picture or a document, its name is no speech, nor are lines of encoded data.
                if not unsaid_kind or (path.split(".")[-1] not in _NAMES and (" " in text or not text.isascii())):
                    source.check_unread(kind, text, f"{where}, {path}")
            unsaid = True
            left_out[PICTURES] += 1
    return texts, calls, unsaid


# -- what is left ---------------------------------------------------------------------------------------


def texts_in(value: Any, path: str = "", depth: int = _DEPTH) -> Iterator[tuple[str, str]]:
    """Path and text of each text of several words in a JSON value, but for thoughts and calls of tools."""
    if isinstance(value, str):
        if _WORDS.search(value):
            loaded = loaded_json(value)
            if loaded is None:
                yield path, value
            else:
                yield from texts_in(loaded, path, depth - 1)
    elif depth <= 0 or is_thought(value) or is_of_tools(value):
        return
    elif isinstance(value, dict):
        for key, inner in value.items():
            if key not in _MARKS and key not in _THOUGHT_KEYS:
                yield from texts_in(inner, f"{path}.{key}" if path else key, depth - 1)
    elif isinstance(value, list):
        for inner in value:
            yield from texts_in(inner, path, depth - 1)


def leave_rest(source: SourceFile, values: Iterable[Any], transcript: Transcript, where: str) -> None:
    """Note the texts of JSON values that a transcript doesn't hold; stop at one that may have been said.

    Raises:
        AmbiguousError: one is as long as a turn, and the user did not say that it is left out.
    """
    kept: str | None = None
    said = {turn.text for turn in transcript.turns} | {item.text for item in transcript.provenance}
    for value in values:
        for path, text in texts_in(value):
            if text in said:
                continue
            if kept is None:
                # As it stands in JSON, for what tools were called with is kept so.
                kept = transcript.to_json().decode() + "\n".join(item.text for item in transcript.provenance)
            if orjson.dumps(text.strip()).decode()[1:-1] not in kept and text.strip() not in kept:
                source.check_unread(path, text, where)

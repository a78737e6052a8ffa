"""Records of what a language model was sent and what it answered: where the conversation stands in them.

A record holds the messages so far, under a known key or another, at its top or within what was requested; beside them
may stand the last question and the answer under evaluation. Nothing of it is taken in two ways without a word.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from bedside.support.errors import AmbiguousError, InputError
from bedside.support.json_shape import json_kind
from bedside.transcripts.message_lists import (
    SeveralAnswersError,
    is_message,
    is_of_tools,
    is_pair,
    is_thought,
    leave_rest,
    loaded_json,
    message_key,
    message_turns,
    messages_in,
    plain_message,
    side_of,
    speaker_of,
    texts_in,
)
from bedside.transcripts.transcript_fields import described, number_or_text
from bedside.transcripts.transcript_maker import is_speech

if TYPE_CHECKING:
    from bedside.transcripts.source_file import SourceFile
    from bedside.transcripts.transcript import Transcript

#: Keys under which messages are looked for first.
LISTS = (
    "messages", "conversations", "conversation", "dialog_history", "dialogue_history", "history", "chat_history",
    "dialogue", "dialog", "turns", "contents", "chunks", "target_messages", "input", "prompt",
)  # fmt: skip
#: Names, without case and underscores, of what a model answered, of what it was asked last, and of what it should say.
_ANSWERS = frozenset(
    """
    response responses output outputs completion completions choices candidates answer answers generation generations
    sampled reply replies result prediction predictions responsetext outputtext completiontext answertext
    assistant assistantmessage generatedtext responsebody outputbodyjson modelmessage
    """.split()
)
_ANSWER_ENDS = ("response", "output", "completion", "reply", "answer", "generation", "prediction")
_QUESTIONS = frozenset(
    """
    question query prompt input instruction userinput usermessage userprompt userquery userquestion lastusermessage
    currentinput currentmessage currentquestion newmessage
    """.split()
)
#: Beginnings of the names of what a model should say, and of what is another's or no answer.
_EXPECTED = ("ideal", "reference", "target", "expected", "gold", "groundtruth", "correct", "true", "best")
_OF_OTHERS = (
    "human",
    "user",
    "patient",
    "client",
    "previous",
    "last",
    "num",
    "max",
    "min",
    "rejected",
    "chosen",
)
_EXPECTED_NAMES = frozenset(("ideal", "reference", "target", "expected", "gold", "golden", "groundtruth"))
#: Names of answers that may be no more than a label.
_LABELS = frozenset(("answer", "answers", "prediction", "predictions", "result", "output", "finalanswer"))
#: The value of ``columns=id=…`` by which each record is a transcript.
EACH_ROW = "row"
#: How many objects within each other are looked into for messages.
_LEVELS = 5


@lru_cache(maxsize=4096)
def _plain(key: str) -> str:
    return key.replace("_", "").replace("-", "").replace(" ", "").casefold()


@lru_cache(maxsize=4096)
def is_expected(key: str) -> bool:
    """Whether a key's name is that of what a model should say."""
    plain = _plain(key).removesuffix("data").removesuffix("s")
    return plain in _EXPECTED_NAMES or (plain.startswith(_EXPECTED) and plain.endswith(_ANSWER_ENDS))


@lru_cache(maxsize=4096)
def is_answer(key: str) -> bool:
    """Whether a key's name is that of a model's answer."""
    plain = _plain(key)
    return plain in _ANSWERS or (
        plain.endswith(_ANSWER_ENDS) and not plain.startswith((*_EXPECTED, *_OF_OTHERS))
    )


def list_of(item: Mapping[str, Any]) -> str | None:
    """The key of known name under which an object holds its messages; None where there is none."""
    lists = [key for key in LISTS if isinstance(item.get(key), list)]
    held = next((key for key in lists if _holds_messages(item[key])), None)
    return held or next((key for key in lists if not item[key]), None)


def _holds_messages(value: Any) -> bool:
    return type(value) is list and bool(value) and (is_message(value[0]) or is_pair(value[0]))


@dataclass(slots=True)
class Talk:
    """A conversation of a record.

    Attributes:
        messages: all that was said.
        path: the keys that lead to its list of messages.
        holders: the objects on the way to it, from the record in, each with the keys that are taken.
        levels: what the stars of a pattern stood for, by the name before them.
        answers: values that the answer was taken from.
    """

    messages: list[Any]
    path: tuple[str, ...] = ()
    holders: list[tuple[Mapping[str, Any], set[str]]] = field(default_factory=list)
    levels: Mapping[str, str | int | float] = field(default_factory=dict)
    answers: list[Any] = field(default_factory=list)


def claims_record(item: Any) -> bool:
    """Whether an object holds a conversation with a language model."""
    if not isinstance(item, dict):
        return False
    item = _opened(item)
    if next(_lists(item), None) is not None or any(
        isinstance(item.get(key), list) and not item[key] for key in ("messages", "conversations")
    ):
        return True
    asked = any(_is_question(key, value) for key, value in item.items())
    answers = [value for key, value in item.items() if is_answer(key) and isinstance(value, dict | list)]
    try:
        return asked and any(messages_in(value, "assistant") for value in answers)
    except SeveralAnswersError:
        return True


def _opened(item: dict[str, Any]) -> dict[str, Any]:
    """A record with what stands in it as JSON within text."""
    packed = {
        key: loaded
        for key, value in item.items()
        if type(value) is str and value[:1] in ("{", "[") and (loaded := loaded_json(value)) is not None
    }
    return {**item, **packed} if packed else item


def _lists(
    item: Mapping[str, Any], path: tuple[str, ...] = (), answers: bool = False
) -> Iterator[tuple[str, ...]]:
    """Paths of the lists of messages of an object; of those under a model's answers, or of all others."""
    for key, value in item.items():
        if path or answers or not is_answer(key):
            kind = type(value)
            if kind is list and value and (is_message(value[0]) or (key in LISTS and is_pair(value[0]))):
                yield (*path, key)
            elif kind is dict and len(path) < _LEVELS and not is_message(value):
                yield from _lists(value, (*path, key), answers)


def talks(source: SourceFile, item: Any, where: str) -> list[Talk]:
    """The conversations of a record: one, or those that the user's pattern finds.

    Raises:
        InputError: there is none, or none where the user says.
        AmbiguousError: there are several, or it can be read in several ways.
    """
    if isinstance(item, InputError):
        raise item
    if isinstance(item, list):
        return [Talk(messages_in(item, "user") if item and is_pair(item[0]) else item)]
    if not isinstance(item, dict):
        raise InputError(
            f"a conversation must be an object or a list, not {json_kind(item)}",
            where=where,
            todo="see bedside readers show messages",
        )
    item = _opened(item)
    pattern = source.options.columns.get("messages")
    listed = list(_named(item, pattern, where)) if pattern else [_only_talk(source, item, where)]
    for talk in listed:
        _complete(source, item, talk, where)
        _check_strays(talk, where)
        _remark_on_missing_answer(source, talk)
    return listed


def _named(item: Mapping[str, Any], pattern: str, where: str) -> Iterator[Talk]:
    matches = list(_matching(item, pattern.split("."), (), [], {}))
    if not matches:
        raise InputError(
            f"there is nothing under {pattern}",
            where=where,
            todo=f"name where the messages stand with `columns=messages=PATH`; keys: {', '.join(map(str, item))}",
        )
    roots = {talk.path[0] for talk in matches} | {path[0] for path in _lists(item)}
    for talk in matches:
        if not isinstance(talk.messages, list):
            raise InputError(
                f"under {'.'.join(talk.path)} stands {json_kind(talk.messages)} and no list of messages",
                where=where,
                todo="name another with `columns=messages=PATH`",
            )
        talk.holders[0][1].update(roots)
        yield talk


def _matching(
    holder: Mapping[str, Any],
    keys: list[str],
    path: tuple[str, ...],
    holders: list[tuple[Mapping[str, Any], set[str]]],
    levels: Mapping[str, str | int | float],
) -> Iterator[Talk]:
    for key, value in holder.items():
        if not fnmatchcase(key, keys[0]):
            continue
        below, inside = {**levels, **_level(key, keys[0])}, [*holders, (holder, {key})]
        if len(keys) == 1:
            yield Talk(value, (*path, key), inside, below)
        elif isinstance(value, dict):
            yield from _matching(value, keys[1:], (*path, key), inside, below)


def _level(key: str, pattern: str) -> dict[str, str | int | float]:
    """What a star stands for, under the name before it: for ``trial_*``, ``{"trial": 0}``."""
    before, star, after = pattern.partition("*")
    if not star:
        return {}
    name = re.sub(r"\W|_$", "", before) or "part"
    return {name: number_or_text(key[len(before) : len(key) - len(after)])}


def _only_talk(source: SourceFile, item: Mapping[str, Any], where: str) -> Talk:
    """The one conversation of a record."""
    paths = list(_lists(item))
    if not paths:
        # What a graph gives may be all that was said.
        paths = [
            path
            for path in _lists(item, answers=True)
            if any(side_of(speaker_of(message)) == "patient" for message in _at(item, path))
        ]
    lists = {path: messages_in(_at(item, path), "user") if is_pair(_at(item, path)[0]) else _at(item, path)
             for path in paths}  # fmt: skip
    if len(paths) > 1:
        # A list may be the beginning of another: what was sent, and all that came of it.
        longest = max(paths, key=lambda path: len(lists[path]))
        rest = [path for path in paths if path != longest and not _begins(lists[path], lists[longest])]
        if rest:
            raise _several_lists([longest, *rest] if longest in paths[:1] else paths, where)
        return _talk(item, longest, lists[longest], {path[0] for path in paths if len(path) == 1})
    if paths:
        path = paths[0]
        if path[-1] not in LISTS or len(path) > 1:
            source.account.remark(f"The messages stand under {'.'.join(path)}.")
        return _talk(item, path, lists[path], set())
    key = list_of(item)
    if key is None and not claims_record(item):
        raise InputError(
            "there is no list of messages", where=where, todo="see bedside readers show messages"
        )
    return Talk([], () if key is None else (key,), [(item, set() if key is None else {key})])


def _talk(item: Mapping[str, Any], path: tuple[str, ...], messages: list[Any], used: set[str]) -> Talk:
    holders: list[tuple[Mapping[str, Any], set[str]]] = []
    holder: Any = item
    for key in path:
        holders.append((holder, {key}))
        holder = holder[key]
    holders[0][1].update(used)
    return Talk(messages, path, holders)


def _at(value: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        value = value[key]
    return value


def _begins(some: list[Any], more: list[Any]) -> bool:
    """Whether messages are the beginning of others."""
    if not all(isinstance(message, dict) for message in (*some, *more)):
        return some == more[: len(some)]
    return list(map(message_key, some)) == list(map(message_key, more[: len(some)]))


def _several_lists(paths: list[tuple[str, ...]], where: str) -> AmbiguousError:
    named = [".".join(path) for path in paths]
    common = {re.sub(r"\d+", "*", path) for path in named}
    both = common.pop() if len(common) == 1 else named[1]
    return AmbiguousError(
        f"the objects hold {len(named)} lists of messages: {', '.join(named[:6])}{', …' if named[6:] else ''}",
        where=where,
        todo=f"take one with `columns=messages={named[0]}`, "
        + (
            f"or all, each as a transcript, with `columns=messages={both}`"
            if "*" in both
            else f"or another with `columns=messages={both}`"
        ),
    )


# -- the question and the answer beside the messages ------------------------------------------------------


def _complete(source: SourceFile, item: Mapping[str, Any], talk: Talk, where: str) -> None:
    """Add to the messages of a record the question and the answer that stand beside them."""
    columns = source.options.columns
    holders = talk.holders
    beside = [
        (level, key, value)
        for level, (holder, used) in enumerate(holders)
        for key, value in holder.items()
        if key not in used and value and (is_answer(key) or _plain(key) in _QUESTIONS)
    ]
    if not beside and not columns.get("answer") and not columns.get("question"):
        return
    if not all(isinstance(message, dict) for message in talk.messages):
        return  # Whoever makes turns of them says what is wrong.
    talk.messages = [plain_message(message, "") or message for message in talk.messages]
    for holder, used in holders:
        told = holder.get("instructions")
        if talk.path[-1:] in ((), ("input",)) and isinstance(told, str) and told:
            talk.messages[:0] = [{"role": "system", "content": told}]
            used.add("instructions")
    if columns.get("answer"):
        answers = [_chosen(item, columns["answer"], "answer", where)]
        root = columns["answer"].split(".")[0]
        taken = {text for _, text in texts_in(answers[0][2])}
        for path, text in texts_in(item.get(root), root):
            if text not in taken:
                source.account.note_unread(path, text, where)  # The user chose another.
    else:
        answers = _answers(source, beside, talk, where) if columns.get("answer") is None else []
        answers = [one for one in answers if not _is_said(one, talk)]
    if columns.get("question") is None:
        _ask(source, beside, talk, bool(answers), where)
    elif columns["question"]:
        _, question, _ = _chosen(item, columns["question"], "question", where, "user")
        talk.messages += question
        holders[0][1].add(columns["question"].split(".")[0])
    _answer(source, answers, talk, where)


def _check_strays(talk: Talk, where: str) -> None:
    """An error for a message of one of the sides that stands elsewhere in the record."""
    said: set[Any] | None = None
    for level, (holder, used) in enumerate(talk.holders):
        for key, value in holder.items():
            if type(value) not in (dict, list) or key in used or is_answer(key) or is_expected(key):
                continue
            for path, message in _messages_below(value, ".".join((*talk.path[:level], key))):
                said = said or {message_key(each) for each in talk.messages if isinstance(each, dict)}
                if message_key(message) not in said:
                    raise AmbiguousError(
                        f"a message stands under {path} too, apart from the others",
                        where=where,
                        todo=f"say `columns=answer={path}` if it was said after them, or leave it out with "
                        f"`leave_out={key}`",
                    )


def _remark_on_missing_answer(source: SourceFile, talk: Talk) -> None:
    """Say so where the messages end with the user, and a text stands beside them that may be the answer."""
    last = talk.messages[-1] if talk.messages else None
    if "answer" in source.options.columns or speaker_of(last) not in ("user", "human"):
        return
    for holder, used in talk.holders:
        for key, value in holder.items():
            if type(value) is str and key not in used and not is_expected(key) and is_speech(value):
                source.account.remark(
                    f"Messages end with the user, and a text stands under {key!r}: say `columns=answer={key}` if it is "
                    "the model's answer."
                )


def _messages_below(value: Any, path: str, depth: int = _LEVELS) -> Iterator[tuple[str, dict[str, Any]]]:
    """Path and message of each one of a known side within a value."""
    if (
        isinstance(value, dict)
        and side_of(speaker_of(value)) in ("clinician", "patient")
        and is_message(value)
    ):
        yield path, value
    elif isinstance(value, dict | list) and depth:
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _messages_below(inner, f"{path}.{key}", depth - 1)


#: The path of an answer, its messages, and where it was taken from.
_Candidate = tuple[str, list[dict[str, Any]], Any]


def _chosen(item: Mapping[str, Any], path: str, name: str, where: str, role: str = "assistant") -> _Candidate:
    """What the user says is the answer, or the question."""
    value: Any = item
    for key in path.split("."):
        if isinstance(value, str):
            value = loaded_json(value)
        if isinstance(value, list) and key.isdigit() and int(key) < len(value):
            value = value[int(key)]
        else:
            value = value.get(key) if isinstance(value, dict) else None
    try:
        messages = messages_in(value, role)
    except SeveralAnswersError as several:
        raise _several_answers(".".join((path, *several.path)), several.number, where) from None
    if not messages:
        raise InputError(
            f"under {path} stands no {name}", where=where, todo=f"name another with `columns={name}=PATH`"
        )
    return path, messages, value


def _several_answers(path: str, number: int, where: str) -> AmbiguousError:
    return AmbiguousError(
        f"{number} answers stand under {path}",
        where=where,
        todo=f"take one with `columns=answer={path}.0`, or another with `columns=answer={path}.1`",
    )


def _answers(
    source: SourceFile, beside: list[tuple[int, str, Any]], talk: Talk, where: str
) -> list[_Candidate]:
    """What stands under the names of answers, and isn't said in the messages."""
    candidates: list[_Candidate] = []
    for level, key, value in beside:
        if not is_answer(key) or (_plain(key) in _QUESTIONS and isinstance(value, str)):
            continue
        path = ".".join((*talk.path[:level], key))
        messages = _answer_messages(key, value, path, where)
        if not messages:
            for inner, text in texts_in(value, path):
                source.check_unread(inner, text, where, instead=f"take it with `columns=answer={inner}`")
            continue
        label = isinstance(value, str) and len(value.split()) == 1 and _plain(key) in _LABELS
        if not (label and _last_side(talk.messages) == "clinician"):
            candidates.append((path, messages, value))
    return candidates


def _is_said(answer: _Candidate, talk: Talk) -> bool:
    """Whether the messages end with an answer; where it repeats all of them and goes on, it takes their place."""
    path, messages, value = answer
    if 0 < len(talk.messages) <= len(messages) and _begins(talk.messages, messages):
        talk.messages = list(messages)
    elif not _ends(talk.messages, messages):
        return False
    _use(talk, path, value)
    return True


def _use(talk: Talk, path: str, value: Any) -> None:
    """Note that what stands under a path became turns."""
    keys = path.split(".")
    for level, (_, used) in enumerate(talk.holders):
        if tuple(keys[:level]) == talk.path[:level] and level < len(keys):
            used.add(keys[level])
    talk.answers.append(value)


def _answer_messages(key: str, value: Any, path: str, where: str) -> list[dict[str, Any]]:
    try:
        if isinstance(value, list) and not any(
            is_message(part) or is_thought(part) or is_of_tools(part) for part in value
        ):
            # Each is an answer of its own.
            return messages_in({"choices": value}, "assistant")
        return messages_in(value, "assistant") if isinstance(value, str | dict | list) else []
    except SeveralAnswersError as several:
        below = several.path[1:] if isinstance(value, list) else several.path
        raise _several_answers(".".join((path, *below)), several.number, where) from None


def _ends(messages: list[Any], end: list[Any]) -> bool:
    """Whether messages end with others, but for what systems and tools say."""
    parties = [message_key(message) for message in messages if _is_party(message)]
    last = [message_key(message) for message in end if _is_party(message)]
    return bool(last) and parties[-len(last) :] == last


def _is_party(message: dict[str, Any]) -> bool:
    return side_of(speaker_of(message)) != "other" and message_key(message)[1] not in (b'""', b"[]", b"null")


def _last_side(messages: list[Any]) -> str | None:
    """The side that said the last of the messages; None where a tool did."""
    for message in reversed(messages):
        who = speaker_of(message)
        if side_of(who) != "other":
            return side_of(who) if _is_party(message) else None
        if who not in ("system", "developer"):
            return None
    return None


def _is_question(key: str, value: Any) -> bool:
    return _plain(key) in _QUESTIONS and isinstance(value, str) and bool(value.strip())


def _ask(
    source: SourceFile, beside: list[tuple[int, str, Any]], talk: Talk, answered: bool, where: str
) -> None:
    """Add the question that an answer is of, where the messages don't hold it."""
    said = {message_key(message) for message in talk.messages}
    new = [
        (level, key, value)
        for level, key, value in beside
        if _is_question(key, value) and message_key({"role": "user", "content": value}) not in said
    ]
    asked = answered or not talk.messages or "history" in talk.path[-1]
    if not new or not asked:
        return  # It is kept under its name.
    paths = [".".join((*talk.path[:level], key)) for level, key, _ in new]
    if len(new) > 1 or _last_side(talk.messages) == "patient":
        raise AmbiguousError(
            f"{paths[0]!r} may be what the model was asked last, "
            + (f"or {paths[1]!r}" if paths[1:] else "or no part of the conversation"),
            where=where,
            todo=f"say `columns=question={paths[0]}` or "
            + (f"`columns=question={paths[1]}`" if paths[1:] else "`columns=question=`"),
        )
    level, key, value = new[0]
    talk.messages.append({"role": _name(talk.messages, "patient", "user"), "content": value})
    talk.holders[level][1].add(key)
    source.account.remark(f"What stands under {paths[0]} is the user's last turn.")


def _name(messages: list[Any], side: str, other: str) -> str:
    """What the messages call a side."""
    return next((who for message in messages if side_of(who := speaker_of(message)) == side), other)


def _answer(source: SourceFile, answers: list[_Candidate], talk: Talk, where: str) -> None:
    """Add the answer, where there is one that the messages don't hold."""
    if not answers:
        return
    different = [answers[0]]
    for one in answers[1:]:
        if all(not _ends(one[1], other[1]) for other in different):
            different.append(one)
    path, messages, value = answers[0]
    chosen = "answer" in source.options.columns
    if len(different) > 1:
        other = different[1][0]
        raise AmbiguousError(
            f"the model's answer may stand under {path!r} or under {other!r}",
            where=where,
            todo=f"say `columns=answer={path}` or `columns=answer={other}`",
        )
    if not chosen and _last_side(talk.messages) == "clinician":
        raise AmbiguousError(
            f"the messages end with the model's turn, and another answer stands under {path!r}",
            where=where,
            todo=f"say `columns=answer={path}` if it was said after them, or leave it out with `leave_out={path}`",
        )
    name = _name(talk.messages, "clinician", "assistant")
    talk.messages += [
        {**message, "role": name} if message.get("role") == "assistant" else message for message in messages
    ]
    for path, _, value in answers:
        _use(talk, path, value)
    source.account.remark(f"What stands under {answers[0][0]} is the model's last turn.")


# -- transcripts -----------------------------------------------------------------------------------------


def record_transcript(
    source: SourceFile, talk: Talk, where: str, name: str, fields: Mapping[str, Any] | None = None
) -> Transcript:
    """The transcript of a record's conversation.

    Args:
        name: its id, where the record has none.
        fields: of the transcript, where they are not those that the record says.
    """
    turns = message_turns(source, talk.messages, where)
    own = {**(fields or fields_of(source, talk, where))}
    owner = own.pop("id", name)
    if talk.levels:
        # SeveralAnswersError conversations of one object are about one case.
        own.setdefault("case_id", owner)
        own["factors"] = {**own["factors"], **talk.levels}
        owner = f"{owner}/{'/'.join(str(level) for level in talk.levels.values())}"
    transcript = source.transcript(turns, where, id=owner, **own)
    if talk.answers:
        leave_rest(source, (value for value in talk.answers if not isinstance(value, str)), transcript, where)
    return transcript


def fields_of(source: SourceFile, talk: Talk, where: str) -> dict[str, Any]:
    """What a record says beside its messages; what stands further out counts."""
    fields: dict[str, Any] = {"factors": {}, "reference": {}}
    item = talk.holders[0][0] if talk.holders else {}
    first = talk.messages[0] if talk.messages else None
    # ShareGPT's key holds the prompt, whatever it reads like; the model stands elsewhere.
    of_sharegpt = isinstance(first, dict) and "from" in first
    for holder, used in reversed(talk.holders):
        outer = described(holder, used | {"system"} if of_sharegpt and holder is item else used)
        if len(talk.holders) == 1:
            fields = outer
            break
        fields = {
            **fields,
            **outer,
            **{part: {**fields[part], **outer[part]} for part in ("factors", "reference")},
        }
    for key in [key for key in fields["factors"] if is_expected(key)]:
        fields["reference"][key] = fields["factors"].pop(key)
    for value in talk.answers:
        if isinstance(value, dict) and isinstance(value.get("model"), str):
            fields.setdefault("system", value["model"])
    settings = item.get("runSettings")
    if isinstance(settings, dict) and isinstance(settings.get("model"), str):
        fields.setdefault("system", settings["model"].removeprefix("models/"))
    if of_sharegpt and item.get("system"):
        fields["reference"]["system_prompt"] = item["system"]
    columns = source.options.columns
    for name, path in columns.items():
        if name not in ("messages", "answer", "question"):
            fields.pop(name, None)
            if path and not (name == "id" and path == EACH_ROW):
                fields[name] = _single(item, path, name, where)
    named = columns.get("system")
    if named == "system":
        fields["reference"].pop("system", None)
    elif named is not None and item.get("system"):
        fields["reference"]["system_prompt"] = item["system"]
    return fields


def _single(item: Mapping[str, Any], path: str, name: str, where: str) -> Any:
    values = [talk.messages for talk in _matching(item, path.split("."), (), [], {})]
    if len(values) != 1 or isinstance(values[0], dict | list):
        raise InputError(
            f"under {path} stands no {name}", where=where, todo=f"name another with `columns={name}=PATH`"
        )
    return values[0]


def unrepeated(source: SourceFile, transcripts: Iterable[Transcript]) -> Iterator[Transcript]:
    """Transcripts without those that the next one, or the one before, holds whole and goes on from; they are counted.

    A log of calls has the same conversation in each of its records, longer each time.

    Raises:
        AmbiguousError: nothing says whether two of them are one conversation.
    """
    last: Transcript | None = None
    for transcript in transcripts:
        if (
            last is not None
            and _goes_on(transcript, last)
            and source.attempt(_is_same, source, transcript, last)
        ):
            continue
        if last is not None and not (
            _goes_on(last, transcript) and source.attempt(_is_same, source, last, transcript)
        ):
            yield last
        last = transcript
    if last is not None:
        yield last


def _goes_on(before: Transcript, after: Transcript) -> bool:
    """Whether a transcript begins with all that another says."""
    return (
        1 < len(before.turns) < len(after.turns)
        and before.turns[0].text == after.turns[0].text
        and all(turn.text == again.text for turn, again in zip(before.turns, after.turns, strict=False))
    )


def _is_same(source: SourceFile, before: Transcript, after: Transcript) -> bool:
    named = source.options.columns.get("id")
    if before.id != after.id and named is None:
        raise AmbiguousError(
            f"the conversation repeats {before.id!r} and goes on: it may be the same, later on, or another",
            where=after.source,
            todo=f"say `columns=id=` if the last record of a conversation holds it whole, `columns=id={EACH_ROW}` if "
            "each record is a conversation, or name the key that tells with `columns=id=PATH`",
        )
    if before.id != after.id and named:
        return False
    source.account.left_out["records whose messages all stand in a longer one"] += 1
    return True

"""Records of what a language model was sent and what it answered: where the conversation stands in them.

A record holds the messages so far, under a known key or another, at its top or within what was requested; beside them
may stand the last question and the answer under evaluation. Nothing of it is taken in two ways without a word.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

from bedside.core.errors import AmbiguousError, InputError
from bedside.core.json_shape import json_kind
from bedside.transcripts.contract import Claim, Head, Reader
from bedside.transcripts.labelled_text import cell_labels, known_labels
from bedside.transcripts.message_lists import (
    MODEL_SPEAKERS,
    TEXT_KEYS,
    SeveralAnswersError,
    is_empty,
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
from bedside.transcripts.transcript_fields import LONGEST_FACTOR, described, number_or_text
from bedside.transcripts.transcript_maker import check_nesting, is_speech

if TYPE_CHECKING:
    from bedside.transcripts.source_file import SourceFile
    from bedside.transcripts.transcript import Transcript

#: Keys under which messages are looked for first.
LISTS = (
    "messages", "conversations", "conversation", "dialog_history", "dialogue_history", "history", "chat_history",
    "dialogue", "dialog", "turns", "contents", "chunks", "target_messages", "input", "prompt",
)  # fmt: skip
#: Names, without case and underscores, of what a model answered, and ends of such names.
ANSWERS: tuple[str, ...] = tuple(
    """
    response responses output outputs completion completions choices candidates answer answers generation generations
    sampled reply replies result prediction predictions responsetext outputtext completiontext answertext
    assistant assistantmessage generatedtext responsebody outputbodyjson modelmessage
    """.split()
)
ANSWER_ENDS = ("response", "output", "completion", "reply", "answer", "generation", "prediction")
#: The same of what it was asked last.
QUESTIONS: tuple[str, ...] = tuple(
    """
    question query prompt input instruction userinput usermessage userprompt userquery userquestion lastusermessage
    currentinput currentmessage currentquestion currentuserinput currentusermessage currentquery newmessage
    """.split()
)
#: Names of what a model should say, how they begin, and beginnings of what is another's or no answer.
_EXPECTED = ("ideal", "reference", "target", "expected", "gold", "golden", "groundtruth")
_BEST = (*_EXPECTED, "correct", "true", "best")
_OF_OTHERS = tuple("human user patient client previous last num max min rejected chosen".split())
#: Names of answers that may be no more than a label.
_LABELS = ("answer", "answers", "prediction", "predictions", "result", "output", "finalanswer")
#: Names of what came of a call, and words in the names of texts that are no answer.
_OUTCOMES = ("result", "results")
_NO_ANSWERS = frozenset(
    """
    note notes comment comments summary summaries label labels title topic topics description scenario situation persona
    profile background context system prompt prompts instruction instructions guideline guidelines rubric rubrics
    criteria criterion id ids name source url path category categories tag tags theme themes diagnosis emotion emotions
    problem question query task reason rationale explanation feedback metadata case vignette reference references date
    time model intent language input symptoms concern character setting split dataset license author version file
    user patient client previous last chosen rejected goal goals error tools documents knowledge memory
    """.split()
)
#: The value of ``columns=id=…`` by which each record is a transcript.
EACH_ROW = "row"
#: How many objects within each other are looked into for messages.
_LEVELS = 5


def _plain(key: str) -> str:
    return key.replace("_", "").replace("-", "").replace(" ", "").casefold()


@lru_cache(maxsize=4096)
def meaning(key: str) -> Literal["answer", "question", "expected"] | None:
    """What a key holds by its name: a model's answer, what it was asked, what it should say; None for others."""
    plain = _plain(key)
    ends = plain.removesuffix("data").removesuffix("s")
    if ends in _EXPECTED or (ends.startswith(_BEST) and ends.endswith(ANSWER_ENDS)):
        return "expected"
    if plain in ANSWERS or (plain.endswith(ANSWER_ENDS) and not plain.startswith((*_BEST, *_OF_OTHERS))):
        return "answer"
    return "question" if plain in QUESTIONS else None


@lru_cache(maxsize=4096)
def _is_no_answer(key: str) -> bool:
    """Whether a word of a key says that it holds no part of the talk."""
    return not _NO_ANSWERS.isdisjoint(re.findall("[a-z]+", re.sub("([a-z])([A-Z])", r"\1 \2", key).casefold()))


def _may_be_answer(key: str, value: Any) -> bool:
    """Whether what stands beside messages that lack an answer may be it."""
    if meaning(key) == "answer":
        return isinstance(value, str) and bool(value.strip()) and _plain(key) not in _OUTCOMES
    if meaning(key) is not None or _is_no_answer(key):
        return False
    if isinstance(value, dict):
        value = next((value[text] for text in TEXT_KEYS if text in value), None)
    return any(isinstance(text, str) and is_speech(text) for text in (value if type(value) is list else [value]))


def list_of(item: Mapping[str, Any]) -> str | None:
    """The key of known name under which an object holds its messages; None where there is none."""
    lists = [key for key in LISTS if isinstance(item.get(key), list)]
    held = (key for key in lists if item[key] and (is_message(item[key][0]) or is_pair(item[key][0])))
    return next(held, None) or next((key for key in lists if not item[key]), None)


def claims_record(item: Any) -> bool:
    """Whether an object holds a conversation with a language model."""
    if not isinstance(item, dict):
        return False
    item = _opened(item)
    if next(_lists(item), None) is not None or [] in (item.get("messages"), item.get("conversations")):
        return True
    answers = [value for key, value in item.items() if isinstance(value, dict | list) and meaning(key) == "answer"]
    try:
        return any(_is_question(*each) for each in item.items()) and any(
            messages_in(value, "assistant") for value in answers
        )
    except SeveralAnswersError:
        return True


def _is_question(key: str, value: Any) -> bool:
    return meaning(key) == "question" and isinstance(value, str) and bool(value.strip())


def _opened(item: dict[str, Any]) -> dict[str, Any]:
    """A record with what stands in it as JSON within text."""
    packed = {
        key: loaded
        for key, value in item.items()
        if type(value) is str and value[:1] in ("{", "[") and (loaded := loaded_json(value)) is not None
    }
    return {**item, **packed} if packed else item


def _lists(item: Mapping[str, Any], path: tuple[str, ...] = (), answers: bool = False) -> Iterator[tuple[str, ...]]:
    """Paths of the lists of messages of an object; of those under a model's answers, or of all others."""
    for key, value in item.items():
        kind = type(value)
        if kind not in (dict, list) or not (path or answers or meaning(key) != "answer"):
            continue
        if (
            kind is list
            and value
            # Messages that are all empty, as of what was never sent, say nothing.
            and not all(isinstance(message, dict) and is_message(message) and is_empty(message) for message in value)
            and (is_message(value[0]) or (key in LISTS and is_pair(value[0])))
        ):
            yield (*path, key)
        elif kind is dict and len(path) < _LEVELS and not is_message(value):
            yield from _lists(value, (*path, key), answers)


def _at(value: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        value = value[key]
    return value


def _matching(
    item: Mapping[str, Any], keys: list[str], path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], dict[str, str | int | float]]]:
    """Paths that fit the keys of a pattern, each with what its stars stand for, under the name before them: for
    ``trial_*``, ``{"trial": 0}``."""
    for key in item:
        if not fnmatchcase(key, keys[0]):
            continue
        before, star, after = keys[0].partition("*")
        name = re.sub(r"\W|_$", "", before) or "part"
        level = {name: number_or_text(key[len(before) : len(key) - len(after)])} if star else {}
        if len(keys) == 1:
            yield (*path, key), level
        elif isinstance(item[key], dict):
            for below, levels in _matching(item[key], keys[1:], (*path, key)):
                yield below, {**level, **levels}


def talks(source: SourceFile, item: Any, where: str) -> list[Talk]:
    """The conversations of a record: one, or those that the user's pattern finds.

    Raises:
        InputError: there is none, or none where the user says; or it is nested too deeply.
        AmbiguousError: there are several, or it can be read in several ways.
    """
    if isinstance(item, InputError):
        raise item
    if isinstance(item, list | dict):
        check_nesting(item, where)
    if isinstance(item, list):
        return [Talk(source, where, messages_in(item, "user") if item and is_pair(item[0]) else item)]
    if not isinstance(item, dict):
        raise InputError(
            f"a conversation must be an object or a list, not {json_kind(item)}",
            where=where,
            todo="see bedside show messages",
        )
    item = _opened(item)
    pattern = source.options.columns.get("messages")
    found = _named(source, item, pattern, where) if pattern else [_only_talk(source, item, where)]
    for talk in found:
        talk.complete()
    return found


def _named(source: SourceFile, item: dict[str, Any], pattern: str, where: str) -> list[Talk]:
    matches = list(_matching(item, pattern.split(".")))
    if not matches:
        raise InputError(
            f"there is nothing under {pattern}",
            where=where,
            todo=f"name where the messages stand with `columns=messages=PATH`; keys: {', '.join(map(str, item))}",
        )
    roots = {path[0] for path in (*(path for path, _ in matches), *_lists(item))}
    for path, _ in matches:
        if not isinstance(_at(item, path), list):
            raise InputError(
                f"under {'.'.join(path)} stands {json_kind(_at(item, path))} and no list of messages",
                where=where,
                todo="name another with `columns=messages=PATH`",
            )
    return [Talk(source, where, _at(item, path), path, _holders(item, path, roots), levels) for path, levels in matches]


def _only_talk(source: SourceFile, item: dict[str, Any], where: str) -> Talk:
    """The one conversation of a record."""
    paths = list(_lists(item))
    if not paths:
        # What a graph gives may be all that was said.
        paths = [
            path
            for path in _lists(item, answers=True)
            if any(side_of(speaker_of(message)) == "patient" for message in _at(item, path))
        ]
    if not paths:
        key = list_of(item)
        if key is None and not claims_record(item):
            raise InputError("there is no list of messages", where=where, todo="see bedside show messages")
        there = () if key is None else (key,)
        return Talk(source, where, [], there, _holders(item, there))
    # A list may be the beginning of another: what was sent, and all that came of it.
    path = max(paths, key=lambda path: len(_list_at(item, path))) if paths[1:] else paths[0]
    messages = _list_at(item, path)
    rest = [other for other in paths if other != path and not _begins(_list_at(item, other), messages)]
    if rest:
        raise _several_lists([path, *rest] if path == paths[0] else paths, where)
    if len(paths) == 1 and (path[-1] not in LISTS or len(path) > 1):
        source.account.remark(f"The messages stand under {'.'.join(path)}.")
    used = {other[0] for other in paths if len(other) == 1}
    return Talk(source, where, messages, path, _holders(item, path, used))


def _list_at(item: Any, path: tuple[str, ...]) -> list[Any]:
    messages: list[Any] = _at(item, path)
    return messages_in(messages, "user") if is_pair(messages[0]) else messages


def _holders(
    item: dict[str, Any], path: tuple[str, ...], used: Iterable[str] = ()
) -> list[tuple[dict[str, Any], set[str]]]:
    holders = [(_at(item, path[:level]), {*path[level : level + 1]}) for level in range(max(1, len(path)))]
    holders[0][1].update(used)
    return holders


def _begins(some: list[Any], more: list[Any]) -> bool:
    """Whether messages are the beginning of others."""
    more = more[: len(some)]
    if not all(isinstance(message, dict) for message in (*some, *more)):
        return some == more
    return list(map(message_key, some)) == list(map(message_key, more))


def _several_lists(paths: list[tuple[str, ...]], where: str) -> AmbiguousError:
    named = [".".join(path) for path in paths]
    common = {re.sub(r"\d+", "*", path) for path in named}
    both = common.pop() if len(common) == 1 else named[1]
    all_or_other = "or all, each as a transcript," if "*" in both else "or another"
    return AmbiguousError(
        f"the objects hold {len(named)} lists of messages: {', '.join(named[:6])}{', …' if named[6:] else ''}",
        where=where,
        todo=f"take one with `columns=messages={named[0]}`, {all_or_other} with `columns=messages={both}`",
    )


def _several_answers(path: str, number: int, where: str) -> AmbiguousError:
    return AmbiguousError(
        f"{number} answers stand under {path}",
        where=where,
        todo=f"take one with `columns=answer={path}.0`, or another with `columns=answer={path}.1`",
    )


def _messages_below(value: Any, path: str, depth: int = _LEVELS) -> Iterator[tuple[str, dict[str, Any]]]:
    """Path and message of each one of a known side within a value."""
    if isinstance(value, dict) and side_of(speaker_of(value)) in ("clinician", "patient") and is_message(value):
        yield path, value
    elif isinstance(value, dict | list) and depth:
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _messages_below(inner, f"{path}.{key}", depth - 1)


def _is_party(message: dict[str, Any]) -> bool:
    return side_of(speaker_of(message)) != "other" and message_key(message)[1] not in (b'""', b"[]", b"null")


def _ends(messages: list[Any], end: list[Any]) -> bool:
    """Whether messages end with others, but for what systems and tools say."""
    parties, last = ([message_key(one) for one in some if _is_party(one)] for some in (messages, end))
    return bool(last) and parties[-len(last) :] == last


#: The path of an answer, its messages, and where it was taken from.
_Candidate = tuple[str, list[dict[str, Any]], Any]


@dataclass(slots=True)
class Talk:
    """A conversation of a record, and what stands beside it.

    Attributes:
        source: the file.
        where: the record's place.
        messages: all that was said.
        path: the keys that lead to its list of messages.
        holders: the objects on the way to it, from the record in, each with the keys that are taken.
        levels: what the stars of a pattern stood for, by the name before them.
        answers: values that the answer was taken from.
    """

    source: SourceFile
    where: str
    messages: list[Any]
    path: tuple[str, ...] = ()
    holders: list[tuple[dict[str, Any], set[str]]] = field(default_factory=list)
    levels: Mapping[str, str | int | float] = field(default_factory=dict)
    answers: list[Any] = field(default_factory=list)

    def complete(self) -> None:
        """Add the question and the answer that stand beside the messages.

        Raises:
            AmbiguousError: they may be others, or a message of one of the sides stands elsewhere.
        """
        columns = self.source.options.columns
        rest = list(self._rest())
        beside = [each for each in rest if each[2] and meaning(each[1]) in ("answer", "question")]
        # Of what is no message, whoever makes turns of them says what is wrong.
        if (beside or columns.get("answer") or columns.get("question")) and all(
            isinstance(message, dict) for message in self.messages
        ):
            self.messages = [plain_message(message, "") or message for message in self.messages]
            self._add_instructions()
            answers = self._answers(beside)
            self._ask(beside, bool(answers))
            self._answer(answers)
            rest = list(self._rest())
        self._check_strays(rest)
        before = self.holders[0][0].get("previous_response_id") if self.holders else None
        if before:
            raise AmbiguousError(
                f"the record goes on from {before!r}, which is another",
                where=self.where,
                todo="join the records of a talk, or read each as one with `leave_out=previous_response_id`",
            )
        if rest and "answer" not in columns and self.messages and speaker_of(self.messages[-1]) in ("user", "human"):
            for level, key, value in rest:
                if _may_be_answer(key, value):
                    path = self._path(level, key)
                    raise AmbiguousError(
                        f"the messages end with the user, and {path!r} may be the model's answer",
                        where=self.where,
                        todo=f"say `columns=answer={path}` if it is, `columns=answer=` if not, or `leave_out={path}`",
                    )

    def _check_strays(self, rest: list[tuple[int, str, Any]]) -> None:
        """An error for a message of one of the sides that stands elsewhere in the record."""
        said: set[Any] | None = None
        for level, key, value in rest:
            if type(value) is str and len(value) > LONGEST_FACTOR and self._holds_more(key, value):
                raise AmbiguousError(
                    f"under {key!r} people speak, too, and say what the messages don't",
                    where=self.where,
                    todo=f"leave it out with `leave_out={key}`, or save it as a record of its own",
                )
            if type(value) not in (dict, list) or meaning(key) in ("answer", "expected"):
                continue
            for path, message in _messages_below(value, self._path(level, key)):
                said = said or {message_key(each) for each in self.messages if isinstance(each, dict)}
                if not is_empty(message) and message_key(message) not in said:
                    raise AmbiguousError(
                        f"a message stands under {path} too, apart from the others",
                        where=self.where,
                        todo=f"say `columns=answer={path}` if it was said after them, or leave it out with "
                        f"`leave_out={key}`",
                    )

    def _holds_more(self, key: str, text: str) -> bool:
        """Whether a text beside the messages is a talk with labels of which they hold no more than a part."""
        roles = self.source.options.roles
        if meaning(key) or _is_no_answer(key) or known_labels(text, roles) < 2:
            return False
        said = "\n".join(text for message in self.messages for _, text in texts_in(message))
        labels = cell_labels(text, roles)
        ends = [*(label.start for label in labels[1:]), len(text)]
        parts = (text[label.end : end].strip() for label, end in zip(labels, ends, strict=True))
        return any(is_speech(part) and part not in said for part in parts)

    def _rest(self) -> Iterator[tuple[int, str, Any]]:
        """Level, key and value of what stands beside the messages and isn't taken."""
        for level, (holder, used) in enumerate(self.holders):
            for key, value in holder.items():
                if key not in used:
                    yield level, key, value

    def _path(self, level: int, key: str) -> str:
        return ".".join((*self.path[:level], key))

    def _add_instructions(self) -> None:
        for holder, used in self.holders:
            told = holder.get("instructions")
            if self.path[-1:] in ((), ("input",)) and isinstance(told, str) and told:
                self.messages[:0] = [{"role": "system", "content": told}]
                used.add("instructions")

    def _chosen(self, name: str, role: str) -> _Candidate:
        """What the user says is the answer, or the question."""
        path = self.source.options.columns[name]
        value: Any = self.holders[0][0]
        for key in path.split("."):
            if isinstance(value, str):
                value = loaded_json(value)
            if isinstance(value, list) and key.isdigit() and int(key) < len(value):
                value = value[int(key)]
            else:
                value = value.get(key) if isinstance(value, dict) else None
        messages = self._messages_of(value, role, path)
        if not messages:
            raise InputError(
                f"under {path} stands no {name}", where=self.where, todo=f"name another with `columns={name}=PATH`"
            )
        return path, messages, value

    def _messages_of(self, value: Any, role: str, path: str) -> list[dict[str, Any]]:
        try:
            return messages_in(value, role)
        except SeveralAnswersError as several:
            raise _several_answers(".".join((path, *several.path)), several.number, self.where) from None

    def _answers(self, beside: list[tuple[int, str, Any]]) -> list[_Candidate]:
        """What stands under the names of answers, or where the user says, and isn't said in the messages."""
        named = self.source.options.columns.get("answer")
        candidates: list[_Candidate] = []
        if named:
            candidates.append(self._chosen("answer", "assistant"))
            root = named.split(".")[0]
            taken = {text for _, text in texts_in(candidates[0][2])}
            for path, text in texts_in(self.holders[0][0].get(root), root):
                if text not in taken:
                    self.source.account.note_unread(path, text, self.where)  # The user chose another.
        for level, key, value in beside if named is None else ():
            if meaning(key) != "answer":
                continue
            path = self._path(level, key)
            messages = self._answer_of(value, path)
            if not messages:
                for inner, text in texts_in(value, path):
                    self.source.check_unread(inner, text, self.where, instead=f"take it with `columns=answer={inner}`")
                continue
            label = (
                isinstance(value, str) and len(value.split()) == 1 and not is_speech(value) and _plain(key) in _LABELS
            )
            if not (label and (self._last_side() == "clinician" or (self.messages and named is None))):
                candidates.append((path, messages, value))
        return [one for one in candidates if not self._is_said(one)]

    def _answer_of(self, value: Any, path: str) -> list[dict[str, Any]]:
        if isinstance(value, list) and not any(
            is_message(part) or is_thought(part) or is_of_tools(part) for part in value
        ):
            # Each is an answer of its own.
            try:
                return messages_in({"choices": value}, "assistant")
            except SeveralAnswersError as several:
                raise _several_answers(".".join((path, *several.path[1:])), several.number, self.where) from None
        return self._messages_of(value, "assistant", path) if isinstance(value, str | dict | list) else []

    def _is_said(self, answer: _Candidate) -> bool:
        """Whether the messages end with an answer; where it repeats all of them and goes on, it takes their place."""
        path, messages, value = answer
        if 0 < len(self.messages) <= len(messages) and _begins(self.messages, messages):
            self.messages = list(messages)
        elif not _ends(self.messages, messages):
            return False
        self._use(path, value)
        return True

    def _use(self, path: str, value: Any) -> None:
        """Note that what stands under a path became turns."""
        keys = tuple(path.split("."))
        for level, (_, used) in enumerate(self.holders[: len(keys)]):
            if keys[:level] == self.path[:level]:
                used.add(keys[level])
        self.answers.append(value)

    def _last_side(self) -> str | None:
        """The side that said the last of the messages; None where a tool did."""
        for message in reversed(self.messages):
            who = speaker_of(message)
            if side_of(who) != "other":
                return side_of(who) if _is_party(message) else None
            if who not in ("system", "developer"):
                return None
        return None

    def _name(self, side: str, other: str) -> str:
        """What the messages call a side."""
        return next((who for message in self.messages if side_of(who := speaker_of(message)) == side), other)

    def _ask(self, beside: list[tuple[int, str, Any]], answered: bool) -> None:
        """Add the question that an answer is of, where the messages don't hold it."""
        named = self.source.options.columns.get("question")
        if named:
            self.messages += self._chosen("question", "user")[1]
            self.holders[0][1].add(named.split(".")[0])
        if named is not None or not (answered or not self.messages or "history" in "".join(self.path[-1:])):
            return  # It is kept under its name.
        said = {message_key(message) for message in self.messages}
        new = [
            each
            for each in beside
            if _is_question(*each[1:]) and message_key({"role": "user", "content": each[2]}) not in said
        ]
        if not new:
            return
        paths = [self._path(level, key) for level, key, _ in new]
        if len(new) > 1 or self._last_side() == "patient":
            other, instead = (
                (f"or {paths[1]!r}", f"`columns=question={paths[1]}`")
                if paths[1:]
                else ("or no part of the conversation", "`columns=question=`")
            )
            raise AmbiguousError(
                f"{paths[0]!r} may be what the model was asked last, {other}",
                where=self.where,
                todo=f"say `columns=question={paths[0]}` or {instead}",
            )
        level, key, value = new[0]
        self.messages.append({"role": self._name("patient", "user"), "content": value})
        self.holders[level][1].add(key)
        self.source.account.remark(f"What stands under {paths[0]} is the user's last turn.")

    def _answer(self, answers: list[_Candidate]) -> None:
        """Add the answer, where there is one that the messages don't hold."""
        if not answers:
            return
        path, messages, _ = answers[0]
        for other, last, _ in answers[1:]:
            if not _ends(last, messages):
                raise AmbiguousError(
                    f"the model's answer may stand under {path!r} or under {other!r}",
                    where=self.where,
                    todo=f"say `columns=answer={path}` or `columns=answer={other}`",
                )
        if "answer" not in self.source.options.columns and self._last_side() == "clinician":
            raise AmbiguousError(
                f"the messages end with the model's turn, and another answer stands under {path!r}",
                where=self.where,
                todo=f"say `columns=answer={path}` if it was said after them, or leave it out with `leave_out={path}`",
            )
        name = self._name("clinician", "assistant")
        self.messages += [
            {**message, "role": name} if message.get("role") == "assistant" else message for message in messages
        ]
        for place, _, value in answers:
            self._use(place, value)
        self.source.account.remark(f"What stands under {path} is the model's last turn.")

    def fields(self) -> dict[str, Any]:
        """What a record says beside its messages; what stands further out counts."""
        item = self.holders[0][0] if self.holders else {}
        first = self.messages[0] if self.messages else None
        # ShareGPT's key holds the prompt, whatever it reads like; the model stands elsewhere.
        of_sharegpt = isinstance(first, dict) and "from" in first
        fields: dict[str, Any] = {}
        for holder, used in reversed(self.holders or [(item, set())]):
            outer = described(holder, used | {"system"} if of_sharegpt and holder is item else used)
            parts = {part: fields[part] | outer[part] for part in ("factors", "reference") if fields}
            fields = {**fields, **outer, **parts} if fields else outer
        factors, reference = fields["factors"], fields["reference"]
        for key in [key for key in factors if meaning(key) == "expected"]:
            reference[key] = factors.pop(key)
        for value in (*self.answers, item.get("runSettings")):
            if isinstance(value, dict) and isinstance(value.get("model"), str):
                fields.setdefault("system", value["model"].removeprefix("models/"))
        if of_sharegpt and item.get("system"):
            reference["system_prompt"] = item["system"]
        columns = self.source.options.columns
        for name, path in columns.items():
            if name not in ("messages", "answer", "question"):
                fields.pop(name, None)
                if path and not (name == "id" and path == EACH_ROW):
                    fields[name] = self._single(path, name)
        if columns.get("system") == "system":
            reference.pop("system", None)
        elif "system" in columns and item.get("system"):
            reference["system_prompt"] = item["system"]
        return fields

    def _single(self, path: str, name: str) -> Any:
        item = self.holders[0][0] if self.holders else {}
        values = [_at(item, path) for path, _ in _matching(item, path.split("."))]
        if len(values) != 1 or isinstance(values[0], dict | list):
            raise InputError(
                f"under {path} stands no {name}", where=self.where, todo=f"name another with `columns={name}=PATH`"
            )
        return values[0]

    def transcript(self, name: str, fields: Mapping[str, Any] | None = None) -> Transcript:
        """The transcript of the conversation.

        Args:
            name: its id, where the record has none.
            fields: of the transcript, where they are not those that the record says.
        """
        turns = message_turns(self.source, self.messages, self.where)
        own = {"id": name, **(self.fields() if fields is None else fields)}
        if self.levels:
            # Several conversations of one object are about one case.
            own.setdefault("case_id", own["id"])
            own["factors"] = {**own["factors"], **self.levels}
            own["id"] = "/".join(map(str, (own["id"], *self.levels.values())))
        transcript = self.source.transcript(turns, self.where, **own)
        if self.answers:
            rest = (value for value in self.answers if not isinstance(value, str))
            leave_rest(self.source, rest, transcript, self.where)
        return transcript


def one_talk(source: SourceFile, record: Mapping[str, Any], where: str) -> Talk:
    """The one conversation of a record, as :func:`talks`.

    Raises:
        AmbiguousError: the user's pattern finds several.
    """
    found = talks(source, record, where)
    if len(found) > 1:
        raise _several_lists([talk.path for talk in found], where)
    return found[0]


def record_transcript(
    source: SourceFile,
    record: Mapping[str, Any],
    where: str,
    name: str,
    *,
    reference: Mapping[str, Any] | None = None,
    rest: Iterable[Any] = (),
    **fields: Any,
) -> Transcript:
    """The transcript of a record that holds one conversation.

    Args:
        record: the messages, and what stands beside them.
        name: its id, where nothing gives another.
        reference: is added to what the record says.
        rest: values of which all that may have been said has to be in the transcript.
        fields: of the transcript, in place of what the record says.
    """
    talk = one_talk(source, record, where)
    own = talk.fields()
    own["reference"] |= reference or {}
    transcript = talk.transcript(name, {**own, **fields})
    leave_rest(source, rest, transcript, where)
    return transcript


def record_reader(
    claims: Callable[[dict[str, Any]], bool],
    build: Callable[[SourceFile, Any, str, str], Transcript],
    *,
    priority: int = 20,
    **entry: Any,
) -> Reader:
    """A reader of JSON of which each value is a conversation with a language model.

    Args:
        claims: whether an object is such a value.
        build: makes the transcript of a value, with its place and an id for want of another.
        priority, entry: of the reader.
    """

    def read(source: SourceFile) -> Iterator[Transcript]:
        source.aliases = MODEL_SPEAKERS
        return source.json_transcripts(build)

    def claim(head: Head) -> Claim | None:
        return "transcripts" if isinstance(head.first, dict) and claims(head.first) else None

    return Reader(claims=claim, read=read, priority=priority, **entry)


def unrepeated(source: SourceFile, transcripts: Iterable[Transcript]) -> Iterator[Transcript]:
    """Transcripts without those that the next one, or the one before, holds whole and goes on from; they are counted.

    A log of calls has the same conversation in each of its records, longer each time.

    Raises:
        AmbiguousError: nothing says whether two of them are one conversation.
    """
    last: Transcript | None = None
    for transcript in transcripts:
        if last is not None:
            if _goes_on(transcript, last) and source.attempt(_is_same, source, transcript, last):
                continue
            if not (_goes_on(last, transcript) and source.attempt(_is_same, source, last, transcript)):
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
    if (before.id != after.id and named) or (before.system != after.system):
        return False
    source.account.left_out["records whose messages all stand in a longer one"] += 1
    return True

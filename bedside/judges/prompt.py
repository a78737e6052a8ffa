"""Prompts: what a judge is sent about one transcript and one rubric.

A prompt is one message. Everything that comes from a transcript stands between marker lines with a code that occurs
nowhere in it, and every line of a turn but its first is set in, so that no turn can close the fence, open another or
look like a second turn. The same transcript and rubric give the same bytes.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from operator import itemgetter
from typing import Any

import orjson

from bedside.core.neutral_text import neutral
from bedside.judges.ask_settings import Order
from bedside.judges.llm.prices import estimate_tokens
from bedside.judges.rubrics.answer_form import RubricPart
from bedside.judges.rubrics.prompt_words import PromptWords, prompt_words
from bedside.judges.rubrics.rubric import FROM_TRANSCRIPT, Rubric, plain_name
from bedside.ratings.names import unit_name
from bedside.transcripts.transcript import Transcript, Turn

# -- What is said where a model doesn't take a parameter that was wanted --------------------------------

_WORDS = {
    "temperature": "it takes no temperature, which is left to the provider",
    "seed": "it takes no seed",
    "probabilities": "it gives no probabilities of tokens",
    "max_tokens": "it takes no limit of tokens",
    "reasoning_effort": "it takes no effort of reasoning",
    "schema": "it takes no JSON Schema, so that the form of its reply is described in words",
}


def unsent_words(parameter: str) -> str:
    """What is said of a model that doesn't take a parameter, to go on after its name."""
    return _WORDS.get(parameter, f"it takes no {parameter}")


def unsent_lines(raters: Iterable[tuple[str, Mapping[str, Any]]]) -> Iterator[str]:
    """A line for each parameter that a judge didn't take.

    Args:
        raters: judges, each with the parameters of its :class:`bedside.judges.counts.JudgingSummary`.
    """
    for rater, parameters in raters:
        for parameter, told in parameters.get("not_taken", {}).items():
            some = told["judgements"] < told["of"]
            part = f" (in {told['judgements']:,} of {told['of']:,} judgements, not in the others)" if some else ""
            yield f"{rater}: {unsent_words(parameter)}{part}."


# -- Text of others in a prompt -------------------------------------------------------------------------
# What stands so can't close its fence, open another, or look like a turn that isn't there.

_CONTINUED = "\n    | "
#: Control characters other than tab become their visible pictures; lone surrogates can't be written at all.
_CONTROLS: dict[int, int] = {code: 0x2400 + code for code in range(32) if code != 9} | {0x7F: 0x2421}
_SURROGATE = re.compile(r"[\ud800-\udfff]")


def clean(text: str) -> str:
    """A text whose lines can't be mistaken for a turn of their own, without invisible characters that break servers.

    Control tokens are spelt apart, see :func:`bedside.core.neutral_text.neutral`, and deepeval's image marker too: it
    would make that library load what the marker names.
    """
    text = neutral(text).replace("[DEEPEVAL:", "[DEEPEVAL :")
    if text.isprintable():
        return text
    lines = _SURROGATE.sub("\ufffd", text).splitlines()
    return _CONTINUED.join(line.translate(_CONTROLS) for line in lines)


def fence(name: str, end: str, code: str, words: PromptWords) -> str:
    """A marker line where material ``begins`` or ``ends``."""
    return words.say("prompt", end, name=name, code=code) + "\n"


def fenced(name: str, content: str, code: str, words: PromptWords) -> str:
    """Material between its marker lines."""
    return f"{fence(name, 'begins', code, words)}{content}\n{fence(name, 'ends', code, words)}"


def codes(content: str, absent_from: Sequence[str]) -> Iterator[str]:
    """Codes of twelve hexadecimal digits, worked out of a content, that occur in none of some texts."""
    start = hashlib.sha256(content.encode())
    for attempt in range(1_000_000):
        digest = start.copy()
        digest.update(str(attempt).encode())
        code = digest.hexdigest()[:12]
        if all(code not in text for text in absent_from):
            yield code
    raise AssertionError("a text can't hold every code")


# -- The examples of a tuned rubric ---------------------------------------------------------------------


def transcript_digest(transcript: Transcript) -> str:
    """A digest of what was said, by which a transcript is known under any name (16 hexadecimal digits)."""
    said = "\n".join(f"{turn.role}: {turn.text}" for turn in transcript.turns)
    return hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()[:16]


class RubricExamples:
    """The examples of a rubric, made ready for prompts.

    Args:
        rubric: the rubric.
    """

    def __init__(self, rubric: Rubric) -> None:
        self._words = rubric.words
        self._examples = [
            (
                example.transcript,
                f"{example.level:g}",
                "\n".join(clean(line) for line in example.conversation.split("\n")),
                clean(example.reason or ""),
            )
            for example in rubric.examples
        ]
        content = "\n".join("\n".join(parts) for parts in self._examples)
        self._code = next(codes(content, [content]))

    def text(self, transcript: Transcript) -> str:
        """What a prompt about a transcript shows: all examples but its own; empty where there is none."""
        if not self._examples:
            return ""
        own, words = transcript_digest(transcript), self._words
        parts: list[str] = []
        for source, level, conversation, reason in self._examples:
            if source == own:
                continue
            number = len(parts) + 1
            example = fenced(words.say("examples", "example", number=number), conversation, self._code, words)
            parts.append(f"\n{example}{words.say('examples', 'level', number=number, level=level)}\n")
            if reason:
                name = words.say("examples", "reason", number=number)
                parts[-1] += f"{words.say('examples', 'their_reason')}\n{fenced(name, reason, self._code, words)}"
        introduction = "\n" + words.say("examples", "introduction", code=self._code)
        return introduction + "".join(parts) if parts else ""


# -- Prompts --------------------------------------------------------------------------------------------

#: Items or turns that one call asks about where a rubric asks about each of many.
ITEMS_PER_CALL = 25
#: What an answer is taken to cost, in tokens, before it is there: a reason of three sentences, and its keys.
_ANSWER_TOKENS = 120
_PART_TOKENS = 15

#: Latin, Chinese, Arabic and Indic ends of sentences, and of questions.
_SENTENCE = re.compile(r"[^.!?。！？؟۔।…\n]*[.!?。！？؟۔।…]*")
_ASKED = ("?", "？", "؟")


@dataclass(frozen=True, slots=True)
class PromptPiece:
    """A stretch of a prompt that other prompts share, with what is worth working out once.

    Attributes:
        text: the text.
        digest: its SHA-256 (hex).
        tokens: its estimated tokens.
    """

    text: str
    digest: str = field(init=False)
    tokens: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "digest", hashlib.sha256(self.text.encode()).hexdigest())
        object.__setattr__(self, "tokens", estimate_tokens(self.text))


@dataclass(frozen=True, slots=True)
class Prompt:
    """What is asked in one call.

    Attributes:
        unit: ``transcript`` or ``turn:<index>``; with ``asked`` turns, ``transcript``.
        pieces: the message, in order.
        schema: JSON Schema of the reply; ``null`` for a reply in words.
        asked: the numbers of the items or turns that are asked about; None where the rubric asks one thing.
        counts: how many items each input has, and how many turns there are, for checking indices.
        choices: the numbers that each part of the answer can be which is the number of an item or turn.
        reply_tokens: how long the reply will be, roughly.
        shared: how many pieces at the beginning other prompts begin with too.
    """

    unit: str
    pieces: tuple[PromptPiece, ...]
    schema: PromptPiece
    asked: tuple[int, ...] | None
    counts: Mapping[str, int]
    choices: Mapping[str, Sequence[int]]
    reply_tokens: int
    shared: int = 1

    @property
    def text(self) -> str:
        """The message."""
        return "".join(piece.text for piece in self.pieces)

    @property
    def form(self) -> str | None:
        """The schema as a model is told it; None for a reply in words."""
        return None if self.schema.text == "null" else self.schema.text

    @property
    def tokens(self) -> int:
        """Estimated tokens of the message."""
        return sum(piece.tokens for piece in self.pieces)

    def digest(self) -> str:
        """SHA-256 (hex) of what is sent: ``{"messages": [{"role": "user", "content": …}], "schema": …}`` as JSON."""
        messages = [{"role": "user", "content": self.text}]
        sent = {"messages": messages, "schema": orjson.Fragment(self.schema.text.encode())}
        return hashlib.sha256(orjson.dumps(sent)).hexdigest()


@dataclass(frozen=True, slots=True)
class NotAskable:
    """A unit that can't be put to a judge.

    Attributes:
        unit: as in :class:`Prompt`.
        asked: as in :class:`Prompt`.
        reason: why not.
    """

    unit: str
    asked: tuple[int, ...] | None
    reason: str


class Question:
    """A rubric made ready for prompts; made once for all transcripts.

    Args:
        rubric: the rubric.
        items_per_call: into how large parts the turns or items are split that a rubric asks about one by one in a
            single reply.
    """

    def __init__(self, rubric: Rubric, items_per_call: int = ITEMS_PER_CALL) -> None:
        self.rubric = rubric
        self.version: str = rubric.version
        self.items_per_call = (rubric.points and rubric.points.at_once) or items_per_call
        self.schema: PromptPiece = PromptPiece(orjson.dumps(rubric.schema()).decode())
        self.text: PromptPiece = PromptPiece(_rubric_text(rubric.shown()))
        self._examples = RubricExamples(rubric)
        self._example_pieces: dict[str, PromptPiece] = {}
        #: Of a flow: its questions, each of which is asked by itself.
        self.steps: tuple[Question, ...] = tuple(map(Question, rubric.question_rubrics if rubric.questions else ()))
        self._answer_tokens = _ANSWER_TOKENS + _PART_TOKENS * len(rubric.parts)

    def prompts(self, conversation: Conversation, order: Order = "transcript-first") -> Iterator[Prompt | NotAskable]:
        """The calls that this rubric takes for a transcript, in the order of its units."""
        rubric, transcript = self.rubric, conversation.transcript
        conversation = conversation.worded(rubric.words)
        turns = [turn for turn in transcript.turns if rubric.role in (None, turn.role)]
        problem = self.problem(transcript, turns)
        if rubric.unit == "transcript" or rubric.each == "turns" or (problem and not turns):
            units: list[Turn | None] = [None]
        else:
            units = [*turns]
        chunks: list[tuple[int, ...] | None] = [None]
        if rubric.each is not None:
            numbers = (
                [turn.index for turn in turns]
                if rubric.each == "turns"
                else range(_count((rubric.points and rubric.points.criteria) or transcript.known(rubric.each)))
            )
            size = self.items_per_call
            chunks = [tuple(numbers[at : at + size]) for at in range(0, len(numbers), size)] or [()]
        for turn in units:
            unit = unit_name(None if turn is None else turn.index)
            for asked in chunks:
                if problem is not None:
                    yield NotAskable(unit, asked, problem)
                else:
                    yield self._prompt(conversation, turn, unit, asked, order)

    def problem(self, transcript: Transcript, turns: Sequence[Turn]) -> str | None:
        """Why a transcript can't be asked about, of which ``turns`` are those that could be rated."""
        rubric = self.rubric
        if rubric.transcript and not transcript.turns:
            return "the transcript has no turns"
        if rubric.unit == "turn" and not turns:
            return f"the transcript has no turn of the {rubric.role}"
        for name in rubric.references:
            value = transcript.known(name)
            if value is None or (isinstance(value, str) and not value.strip()):
                return f"the transcript's reference has no {name}"
        if rubric.points is not None:
            try:
                rubric.points.of(transcript.known(rubric.points.key))
            except ValueError as error:
                return str(error)
        elif rubric.each is not None and rubric.each != "turns" and not transcript.known(rubric.each):
            return f"the transcript's {rubric.each} are empty: there is nothing to ask about"
        return None

    def _prompt(
        self, conversation: Conversation, turn: Turn | None, unit: str, asked: tuple[int, ...] | None, order: Order
    ) -> Prompt:
        rubric, transcript = self.rubric, conversation.transcript
        material = []
        turns = turns_shown(rubric, transcript, turn)
        if len(turns) < len(transcript.turns) and rubric.transcript:
            material.append(conversation.part(turns))
        elif rubric.transcript:
            material.append(conversation.whole)
        counts = {"turns": len(transcript.turns)}
        shown: dict[str, Sequence[int]] = {"turns": [shown_turn.index for shown_turn in turns]}
        for item in rubric.shown_inputs:
            value = input_value(rubric, item.name, transcript, turn)
            counts[item.name] = _count(value)
            shown[item.name] = range(counts[item.name])
            material.append(conversation.input(item.called, item.description, value))
        left_out = words_left_out(rubric, transcript, turn, turns)
        rated = PromptPiece(_rated(rubric, turn, asked, left_out))
        asking = (self.text, *self._example_piece(transcript))
        if order == "transcript-first":
            pieces = (conversation.introduction, *material, *asking, rated)
            shared = 2 if rubric.transcript and len(turns) == len(transcript.turns) else 1
        else:
            pieces = (*asking, conversation.introduction, *material, rated)
            shared = len(asking)
        answers = 1 if asked is None else len(asked)
        choices = {part.name: shown[part.of] for part in rubric.parts if part.type == "index" and part.of}
        return Prompt(unit, pieces, self.schema, asked, counts, choices, answers * self._answer_tokens, shared)

    def _example_piece(self, transcript: Transcript) -> tuple[PromptPiece, ...]:
        """The examples that a prompt about a transcript shows; the same text is worked out once."""
        text = self._examples.text(transcript)
        if text and text not in self._example_pieces:
            self._example_pieces[text] = PromptPiece(text)
        return (self._example_pieces[text],) if text else ()


class Conversation:
    """A transcript made ready for prompts; made once for all rubrics of a language.

    Args:
        transcript: the transcript.
        words: what is said around it; in English by default.
    """

    def __init__(self, transcript: Transcript, words: PromptWords | None = None) -> None:
        self.transcript = transcript
        self.words: PromptWords = words or prompt_words()
        self._lines = {turn.index: _line(turn, self.words.roles) for turn in transcript.turns}
        self.code: str = next(self._codes())
        self.introduction: PromptPiece = PromptPiece(self.words.say("prompt", "introduction", code=self.code))
        #: The same in other words; its own are among them once another is.
        self._others: dict[str, Conversation] = {}

    def worded(self, words: PromptWords) -> Conversation:
        """The same conversation with other words around it."""
        if words.code == self.words.code:
            return self
        if words.code not in self._others:
            self._others[words.code] = Conversation(self.transcript, words)
        return self._others[words.code]

    def _codes(self) -> Iterator[str]:
        """Codes, worked out of the transcript, that occur nowhere in it."""
        content = "\n".join(self._lines.values())
        return codes(content, [content, self._beside])

    @property
    def _beside(self) -> str:
        """All that may be shown beside the turns."""
        reference = orjson.dumps(self.transcript.reference, default=str, option=orjson.OPT_NON_STR_KEYS)
        return "\n".join([reference.decode(), *(item.text for item in self.transcript.provenance)])

    def code_beside(self, other: Conversation) -> str:
        """The code; where it occurs in another conversation that is shown too, one that occurs in neither."""
        beside = other.lines().text + other._beside
        return next(code for code in self._codes() if code not in beside)

    def lines(self, turns: Iterable[Turn] | None = None) -> PromptPiece:
        """All turns or some of them, as they are shown, without a fence."""
        if turns is None:
            return self._all_lines
        return PromptPiece("\n".join(self._lines[turn.index] for turn in turns))

    @cached_property
    def _all_lines(self) -> PromptPiece:
        return PromptPiece("\n".join(self._lines.values()))

    @cached_property
    def whole(self) -> PromptPiece:
        """The whole conversation, fenced."""
        return self._fenced(self._lines.values())

    def part(self, turns: Iterable[Turn]) -> PromptPiece:
        """Some of the turns, fenced."""
        return self._fenced(self._lines[turn.index] for turn in turns)

    def input(self, title: str, description: str, value: object) -> PromptPiece:
        """Something beside the conversation, fenced."""
        return input_piece(title, description, value, self.code, self.words)

    def _fenced(self, lines: Iterable[str]) -> PromptPiece:
        name = self.words.say("prompt", "conversation")
        return PromptPiece("\n" + fenced(name, "\n".join(lines), self.code, self.words))


def input_piece(title: str, description: str, value: object, code: str, words: PromptWords) -> PromptPiece:
    """Something beside the conversation, fenced."""
    told = words.say("prompt", "input", title=title, description=description)
    return PromptPiece(f"\n{told}\n{fenced(title, _value(value, words), code, words)}")


def objection(problem: str, words: PromptWords | None = None) -> str:
    """What is said to a model whose reply couldn't be used; what is wrong with it is told in English."""
    return (words or prompt_words()).say("prompt", "objection", problem=problem)


# -- which turns are shown --------------------------------------------------------------------------


def turns_shown(rubric: Rubric, transcript: Transcript, turn: Turn | None = None) -> Sequence[Turn]:
    """The turns that a rubric shows: the rated ``turn`` with what came before it, or those of a conversation."""
    if not rubric.transcript:
        return ()
    if turn is None:
        return _of_stage(rubric, transcript) or transcript.turns
    before = [
        earlier
        for earlier in transcript.turns
        if earlier.index < turn.index and rubric.window_role in (None, earlier.role)
    ]
    return [*before[max(0, len(before) - rubric.window) if rubric.window is not None else 0 :], turn]


def _of_stage(rubric: Rubric, transcript: Transcript) -> list[Turn]:
    """The turns of the rated role in the rubric's stage; none where no turn carries it, or the rubric names none."""
    if rubric.stage is None:
        return []
    return [
        turn
        for turn in transcript.turns
        if rubric.role in (None, turn.role)
        and turn.meta
        and _stage_name(turn.meta.get("stage")) == _stage_name(rubric.stage)
    ]


def _stage_name(stage: object) -> str:
    """A stage's name without what writing it differently changes: ``Providing_information`` and the like."""
    return " ".join(re.split(r"[\W_]+", str(stage).casefold())).strip()


def words_left_out(rubric: Rubric, transcript: Transcript, turn: Turn | None, turns: Sequence[Turn]) -> str:
    """What a judge is told of the turns that it isn't shown; empty where it is shown all it should expect."""
    words = rubric.words
    if turn is None:
        if not _of_stage(rubric, transcript):
            return ""
        if rubric.role is None:
            return words.say("prompt", "stage_all", stage=rubric.stage)
        return words.say("prompt", "stage", role_of=words.of(rubric.role), stage=rubric.stage)
    if rubric.window_role is not None:
        whose = words.of(rubric.window_role)
        if rubric.window is None:
            return words.say("prompt", "window_role", role_of=whose)
        return words.say("prompt", "window_role_last", role_of=whose, window=rubric.window)
    return words.say("prompt", "left_out", number=turns[0].index) if turns[0].index else ""


# -- material ---------------------------------------------------------------------------------------


def _line(turn: Turn, roles: Mapping[str, str]) -> str:
    return f"[{turn.index}] {roles[turn.role]}: {clean(turn.text)}"


def _value(value: object, words: PromptWords) -> str:
    none = words.say("prompt", "none")
    if isinstance(value, list | tuple):
        return "\n".join(f"[{number}] {_entry(entry)}" for number, entry in enumerate(value)) or none
    return _entry(value) or none


def _entry(value: object) -> str:
    if isinstance(value, Mapping):
        # In one order, wherever the transcript was read from.
        named = sorted(((str(key), entry) for key, entry in value.items()), key=itemgetter(0))
        return "; ".join(f"{clean(key)}: {_entry(entry)}" for key, entry in named)
    if isinstance(value, list | tuple):
        return ", ".join(map(_entry, value))
    return clean(str(value))


def _count(value: object) -> int:
    return len(value) if isinstance(value, list | tuple) else 1


def pending_question(transcript: Transcript, turn: Turn | None) -> str:
    """The patient's latest question before ``turn`` that is still open; empty where there is none.

    A clinician turn that says anything besides questions counts as an answer, because whether it is a good one is
    the judge's to say; one that only asks back leaves the question open.
    """
    stop = len(transcript.turns) if turn is None else turn.index
    for earlier in reversed(transcript.turns[:stop]):
        sentences: list[str] = [words.strip() for words in _SENTENCE.findall(earlier.text) if words.strip()]
        questions = [sentence for sentence in sentences if sentence.rstrip("!.。！").endswith(_ASKED)]
        if earlier.role == "patient" and questions:
            return questions[-1]
        if earlier.role == "clinician" and len(questions) < len(sentences):
            return ""
    return ""


#: How inputs are worked out from the conversation; the names are
#: :data:`~bedside.judges.rubrics.rubric.FROM_TRANSCRIPT`'s.
FROM_TURNS: Mapping[str, Callable[[Transcript, Turn | None], str]] = {"pending_question": pending_question}


def input_value(rubric: Rubric, name: str, transcript: Transcript, turn: Turn | None = None) -> object:
    """What a rubric shows beside a conversation under a name, where a turn is rated as of that turn."""
    if rubric.points is not None and name == rubric.points.key:
        # What a criterion is worth is not shown.
        return [criterion.criterion for criterion in rubric.points.of(transcript.known(rubric.points.key))]
    if name in rubric.shows:
        return rubric.provenance(transcript, name, None if turn is None else turn.index)
    return FROM_TURNS[name](transcript, turn) if name in FROM_TRANSCRIPT else transcript.known(name)


# -- the rubric in words ----------------------------------------------------------------------------


def rubric_lines(rubric: Rubric) -> list[str]:
    """What a rubric asks, without the form of the reply."""
    words = rubric.words
    lines = [
        "\n" + words.say("prompt", "rubric"),
        words.say("prompt", "title", title=rubric.title),
        words.say("prompt", "construct", construct=rubric.construct),
        words.say("prompt", "definition", definition=rubric.definition),
    ]
    if rubric.role is not None:
        lines.append(words.say("prompt", "whose", role_of=words.of(rubric.role)))
    if rubric.instructions:
        lines.append(words.say("prompt", "instructions", instructions=rubric.instructions))
    return lines


def reply_lines(words: PromptWords) -> list[str]:
    """What stands before the keys of a reply."""
    return ["", words.say("prompt", "reply"), words.say("prompt", "reply_form")]


def _rubric_text(rubric: Rubric) -> str:
    words = rubric.words
    lines = [*rubric_lines(rubric), *reply_lines(words)]
    keys = [words.say("prompt", "reason", reason=rubric.reason_wanted)]
    for part in rubric.parts:
        keys += part_lines(part, rubric)
    if rubric.each is not None:
        about = "_turn" if rubric.each == "turns" else ""
        lines += [words.say("prompt", f"answers{about}"), words.say("prompt", f"item{about}")]
        keys = [f"  {line}" for line in keys]
    return "\n".join([*lines, *keys, ""])


def part_lines(part: RubricPart, rubric: Rubric, indent: str = "") -> list[str]:
    """What a part of an answer to a rubric is, in words."""
    words = rubric.words
    null = words.say("prompt", "or_null") if part.optional else ""
    match part.type:
        case "quote":
            form = words.say("forms", "quote", role=words.roles[str(part.of)], role_of=words.of(str(part.of)))
        case "index" if part.of == "turns":
            form = words.say("forms", "index_turn")
        case "index":
            form = words.say("forms", "index", items=_called(rubric, str(part.of)))
        case _:
            form = words.say("forms", part.type)
    told = {"name": part.name, "form": form, "null": null, "descriptor": part.descriptor}
    lines = [indent + words.say("prompt", "part", **told)]
    named = [(str(level.value), level.descriptor) for level in part.scale]
    named += [(orjson.dumps(label.label).decode(), label.descriptor) for label in part.labels]
    lines += [f"{indent}  {words.say('prompt', 'entry', name=name, descriptor=text)}" for name, text in named]
    for item in part.items:
        lines += part_lines(item, rubric, f"{indent}  ")
    return lines


def _called(rubric: Rubric, name: str) -> str:
    """What an input of a rubric is called."""
    return next((item.called for item in rubric.inputs if item.name == name), plain_name(name))


def _rated(rubric: Rubric, turn: Turn | None, asked: tuple[int, ...] | None, left_out: str) -> str:
    words = rubric.words
    lines = []
    if turn is not None:
        lines.append(words.say("prompt", "rate_turn", number=turn.index))
    if left_out:
        lines.append(left_out)
    if asked is not None:
        numbers = ", ".join(map(str, asked))
        if rubric.each == "turns":
            lines.append(words.say("prompt", "answer_turns", numbers=numbers))
        else:
            items = _called(rubric, str(rubric.each))
            lines.append(words.say("prompt", "answer_items", items=items, numbers=numbers))
    if turn is None and asked is None:
        lines.append(words.say("prompt", "rate"))
    return f"\n{words.join(*lines)}\n"

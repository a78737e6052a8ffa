"""Which of two conversations is better by a rubric: what a judge is sent, and what its answer comes to.

The prompt shows both conversations between marker lines with one code that occurs in neither; names of systems, cases
and transcripts stand nowhere in it. It begins with the conversation shown first, so that a server's prefix cache serves
all comparisons and rubrics that begin with it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import cached_property

import orjson

from bedside.judges.ask_settings import Order
from bedside.judges.counts import Tally
from bedside.judges.prompt import (
    Conversation,
    NotAskable,
    Prompt,
    PromptPiece,
    Question,
    fence,
    input_piece,
    input_value,
    part_lines,
    reply_lines,
    rubric_lines,
    turns_shown,
    words_left_out,
)
from bedside.judges.questions import AnswerGroup, JudgeAnswer, wordless
from bedside.judges.reply import Parsed, parse
from bedside.judges.rubric_ratings import NOT_APPLICABLE, Unpacked
from bedside.judges.rubrics.answer_form import Label, RubricPart
from bedside.judges.rubrics.prompt_words import PromptWords
from bedside.judges.rubrics.rubric import Rubric
from bedside.judges.rubrics.rubric_files import better_words, check_comparable, level_lines
from bedside.judges.store import Judgement
from bedside.ratings.names import pair_unit
from bedside.ratings.rubric_metrics import FIRST, SECOND, SHARES, TIE, preference_metric
from bedside.transcripts.transcript import Transcript

#: What a reply is taken to cost, in tokens, before it is there.
_REPLY_TOKENS = 150


class _PreferenceForm(Rubric):
    """What a reply must be: a rubric with the labels of a preference."""

    @cached_property
    def parts(self) -> tuple[RubricPart, ...]:
        """The one part of an answer."""
        about = self.words.say("pair", "about")
        if self.not_applicable is not None:
            about += self.words.say("pair", "null_where", when=self.not_applicable)
        return (
            RubricPart(
                name="better",
                type="label",
                descriptor=about,
                labels=self.labels,
                optional=self.not_applicable is not None,
            ),
        )

    def shown(self) -> Rubric:
        """The same: it is made of texts as they are shown."""
        return self


def _form(rubric: Rubric) -> Rubric:
    shown = rubric.shown()
    return _PreferenceForm(
        name=shown.name, title=shown.title, construct=shown.construct, definition=shown.definition,
        unit="transcript", kind="label", direction="none", source=shown.source, not_applicable=shown.not_applicable,
        labels=tuple(Label(label=label, descriptor=rubric.words.say("pair", label)) for label in (FIRST, SECOND, TIE)),
        language=rubric.language,
    )  # fmt: skip


class PairQuestion:
    """A rubric made ready for comparing conversations; made once for all pairs.

    Args:
        rubric: a rubric that rates whole conversations on levels.

    Attributes:
        name: the metric of the preferences.
        version: hash of all that a judge sees of it.

    Raises:
        InputError: it is another.
    """

    def __init__(self, rubric: Rubric) -> None:
        check_comparable(rubric)
        self.rubric = rubric
        self.name: str = preference_metric(rubric.name)
        self.words: PromptWords = rubric.words
        self.form: Rubric = _form(rubric)
        self.text: PromptPiece = PromptPiece(self._words(rubric.shown()))
        schema = self.form.schema()
        schema["properties"]["reason"]["description"] = self.words.say("pair", "reason")
        self.schema: PromptPiece = PromptPiece(orjson.dumps(schema).decode())
        introduction = self.words.say("pair", "introduction", code="{code}")
        seen = "".join((introduction, self.text.text, self.schema.text, *rubric.shows))
        self.version: str = hashlib.sha256(seen.encode()).hexdigest()[:12]
        self._whole = Question(rubric)

    def _words(self, shown: Rubric) -> str:
        words = self.words
        levels = [f"  {line}" for line in level_lines(shown)]
        tie = orjson.dumps(TIE).decode()
        comparison = words.say("pair", "comparison", better=better_words(shown), tie=tie)
        reason = words.say("prompt", "reason", reason=words.say("pair", "reason"))
        return "\n".join(
            [
                *rubric_lines(shown), words.say("pair", "levels"), *levels, "",
                words.say("pair", "heading"), comparison, words.say("pair", "turns"),
                *reply_lines(words), reason,
                *(line for part in self.form.parts for line in part_lines(part, self.form)), "",
            ]
        )  # fmt: skip

    def problem(self, transcript: Transcript) -> str | None:
        """Why a transcript can't be compared; None where it can."""
        rubric = self.rubric
        turns = [turn for turn in transcript.turns if rubric.role in (None, turn.role)]
        return self._whole.problem(transcript, turns)

    def prompt(self, pair: ConversationPair, order: Order) -> Prompt | NotAskable:
        """The call that compares two conversations."""
        unit = pair_unit(pair.second.transcript.id)
        pair, words = pair.worded(self.words), self.words
        for place, conversation in pair.placed:
            problem = self.problem(conversation.transcript)
            if problem is not None:
                return NotAskable(unit, None, f"of the conversation shown {place}, {problem}")
        material: list[PromptPiece] = []
        left_out: dict[str, None] = {}
        for place, conversation in pair.placed:
            transcript = conversation.transcript
            turns = turns_shown(self.rubric, transcript)
            name = words.say("pair", f"{place}_conversation")
            material += [
                pair.piece("\n" + fence(name, "begins", pair.code, words)),
                conversation.lines(None if len(turns) == len(transcript.turns) else turns),
                pair.piece("\n" + fence(name, "ends", pair.code, words)),
            ]
            left_out |= dict.fromkeys([words_left_out(self.rubric, transcript, None, turns)])
        asked = PromptPiece(f"\n{words.join(*left_out, words.say('pair', 'compare'))}\n")
        material += self._inputs(pair)
        # Up to the end of the conversation shown first, comparisons of it with others begin alike.
        head, shared = (pair.introduction, *material, self.text), 4
        if order == "rubric-first":
            head, shared = (self.text, pair.introduction, *material), 1
        counts = {"turns": min(len(conversation.transcript.turns) for _, conversation in pair.placed)}
        return Prompt(unit, (*head, asked), self.schema, None, counts, {}, _REPLY_TOKENS, shared)

    def _inputs(self, pair: ConversationPair) -> Iterator[PromptPiece]:
        """What is shown beside the conversations: once where both have the same, as of one case."""
        for item in self.rubric.shown_inputs:
            values = [input_value(self.rubric, item.name, conversation.transcript) for _, conversation in pair.placed]
            if values[0] == values[1]:
                yield input_piece(item.called, item.description, values[0], pair.code, self.words)
                continue
            for (place, _), value in zip(pair.placed, values, strict=True):
                title = self.words.say("pair", f"of_{place}", title=item.called)
                yield input_piece(title, item.description, value, pair.code, self.words)


class ConversationPair:
    """Two conversations in the order in which they are shown.

    Args:
        first: the one shown first.
        second: the one shown second.
    """

    def __init__(self, first: Conversation, second: Conversation) -> None:
        self.first = first
        self.second = second
        self.placed: tuple[tuple[str, Conversation], tuple[str, Conversation]] = ((FIRST, first), (SECOND, second))
        self.code: str = first.code_beside(second)
        self._pieces: dict[str, PromptPiece] = {}
        self._others: dict[str, ConversationPair] = {}

    @property
    def introduction(self) -> PromptPiece:
        """What a prompt begins with."""
        return self.piece(self.first.words.say("pair", "introduction", code=self.code))

    def worded(self, words: PromptWords) -> ConversationPair:
        """The same conversations with other words around them."""
        if words.code == self.first.words.code:
            return self
        if words.code not in self._others:
            self._others[words.code] = ConversationPair(self.first.worded(words), self.second.worded(words))
        return self._others[words.code]

    def piece(self, text: str) -> PromptPiece:
        """A stretch of prompts about this pair; made once."""
        if text not in self._pieces:
            self._pieces[text] = PromptPiece(text)
        return self._pieces[text]


class PairGroup(AnswerGroup):
    """What one pass of one rubric asks about two conversations in one order."""

    def __init__(self, pair: ConversationPair, question: PairQuestion, number: int, tally: Tally) -> None:
        super().__init__(pair.first.transcript, question.name, question.version, number, tally)
        self.pair = pair
        self.question = question
        self.words: PromptWords = question.words

    def prompts(self, order: Order) -> Iterator[Prompt | NotAskable]:
        """The one call."""
        yield self.question.prompt(self.pair, order)

    def read(self, text: str, prompt: Prompt) -> Parsed:
        """A reply, where it is a preference."""
        return parse(text, self.question.form, counts=prompt.counts)

    def wordless(self, judgement: Judgement) -> Judgement:
        """The judgement's label."""
        return wordless(judgement, self.question.form)


def preference_of(question: PairQuestion, reply: JudgeAnswer) -> Unpacked:
    """The rating that an answer is."""
    if reply.answer is None:
        return reply.unit, question.name, None, None, None, reply.error
    label, reason = reply.answer["better"], reply.answer["reason"]
    if label is None:
        return reply.unit, question.name, None, None, reason, NOT_APPLICABLE
    return reply.unit, question.name, SHARES[label], label, reason, None

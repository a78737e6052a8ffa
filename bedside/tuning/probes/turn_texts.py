"""What probes change and show: texts of turns, passages that a model writes anew, what a judge is shown."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from bedside.judges.ask_settings import Order
from bedside.judges.counts import Tally
from bedside.judges.prompt import Conversation, NotAskable, Prompt, PromptPiece, Question
from bedside.judges.questions import JudgeAnswer, QuestionGroup
from bedside.judges.rubric_ratings import NOT_APPLICABLE
from bedside.judges.rubrics.answer_form import RubricPart
from bedside.judges.rubrics.rubric import Input, Rubric
from bedside.ratings.names import altered_id
from bedside.transcripts.language import not_english, primary_language
from bedside.transcripts.transcript import Role, Transcript, Turn
from bedside.tuning.probes.contract import Altered

# -- Changes of a conversation's turns that several probes make -----------------------------------------

#: What is said in an added turn, and by whom.
AddedTurn = tuple[Role, str]


def rated_role(rubric: Rubric) -> Role:
    """Whose turns a change is made to: those that the rubric rates, the clinician's where it rates the whole."""
    return rubric.role or "clinician"


def numbered(transcript: Transcript, turns: Sequence[Turn]) -> Transcript:
    """The conversation with these turns, numbered anew."""
    return replace(
        transcript,
        turns=tuple(turn if turn.index == index else replace(turn, index=index) for index, turn in enumerate(turns)),
    )


def with_texts(transcript: Transcript, role: Role, text: Callable[[str], str]) -> Transcript:
    """The conversation with each turn of a role in other words."""
    return replace(
        transcript,
        turns=tuple(replace(turn, text=text(turn.text)) if turn.role == role else turn for turn in transcript.turns),
    )


def exchanges(transcript: Transcript) -> list[list[Turn]]:
    """The turns in exchanges, each from where the clinician begins to speak until they begin again.

    What others say before the clinician's first turn is an exchange of its own.
    """
    blocks: list[list[Turn]] = []
    before: Role | None = None
    for turn in transcript.turns:
        if not blocks or (turn.role == "clinician" and before != "clinician"):
            blocks.append([])
        blocks[-1].append(turn)
        before = turn.role
    return blocks


def with_turns(transcript: Transcript, place: int, added: Sequence[AddedTurn]) -> Transcript:
    """The conversation with turns added before the one at ``place``; they belong to the stage of their neighbour.

    A speaker is called as the first turn of that role calls them.
    """
    neighbour = transcript.turns[min(place, len(transcript.turns) - 1)]
    stage = {"stage": neighbour.meta["stage"]} if "stage" in neighbour.meta else {}
    speakers = {turn.role: turn.speaker for turn in reversed(transcript.turns)}
    turns = [Turn(0, role, speakers.get(role, role), text, stage) for role, text in added]
    return numbered(transcript, [*transcript.turns[:place], *turns, *transcript.turns[place:]])


# -- The language that a probe's own texts are in -------------------------------------------------------

#: The languages that probes have texts in.
LANGUAGES = ("en", "zh", "de")

_HAN = re.compile(r"[\u3400-\u9fff]")
_LETTER = re.compile(r"[^\W\d_]")
_WORD = re.compile(r"[^\W\d_]+")
_SENTENCE = re.compile(r"\S[^.!?。！？…\n]*[.!?。！？…]*[\"'”’」』)）]*")
#: Frequent in German, and rare as words of other languages.
_GERMAN = frozenset(
    """
    aber auch auf das dass dem den der die doch ein eine einen er es habe haben hat ich ihnen immer ist ja kann
    mal mehr mein mich mir mit nicht noch nur oder schon sehr sich sie sind und uns von vor wann war was wenn wie wir
    wird zu zum über
    """.split()
)
#: Share of these words that German has at least.
_GERMAN_SHARE = 0.15
_SAMPLE = 4000


def text_language(transcript: Transcript) -> tuple[str, str | None]:
    """The language of a probe's texts for a conversation, and what is amiss with it as a phrase; None where nothing.

    The transcript's own where it names one; else what its characters and commonest words show. A conversation in a
    language that probes have no texts in gets English ones.
    """
    if transcript.language is not None:
        tag = primary_language(transcript.language)
        return (tag, None) if tag in LANGUAGES else ("en", f"English texts were put into a conversation in {tag}")
    text = " ".join(turn.text for turn in transcript.turns)[:_SAMPLE]
    letters = len(_LETTER.findall(text))
    if 5 * len(_HAN.findall(text)) > letters > 0:
        return "zh", None
    words = _WORD.findall(text.lower())
    if words and sum(map(_GERMAN.__contains__, words)) >= _GERMAN_SHARE * len(words):
        return "de", None
    if not_english(text, None) is None:
        return "en", None
    return "en", "English texts were put into a conversation whose language isn't known"


def word_count(text: str) -> int:
    """How many words a text has; each Chinese character counts as one."""
    han = len(_HAN.findall(text))
    return han + len(_HAN.sub(" ", text).split()) if han else len(text.split())


def sentences(text: str) -> list[str]:
    """A text's sentences, with their ends."""
    return [match[0].strip() for match in _SENTENCE.finditer(text)]


def joined(parts: list[str], language: str) -> str:
    """Sentences as a text; Chinese has no space between them."""
    return ("" if language == "zh" else " ").join(parts)


# -- Passages that a model writes anew ------------------------------------------------------------------

#: Passages written in one reply.
_PER_CALL = 12
_PASSAGES = "passages"


@dataclass(frozen=True, slots=True)
class PassageText:
    """Passages that a model is asked to write anew.

    Attributes:
        name: what they are of, unique among those asked together; the store's entries carry it.
        passages: the texts, each with who says it where somebody does.
    """

    name: str
    passages: tuple[tuple[str | None, str], ...]


def of_turns(transcript: Transcript, language: str) -> PassageText:
    """A conversation to be translated."""
    return PassageText(
        altered_id(transcript.id, f"translation {language}"), tuple((turn.role, turn.text) for turn in transcript.turns)
    )


def of_rubric(rubric: Rubric) -> PassageText:
    """A rubric's texts to be paraphrased: what is rated, the question, how to decide, and the levels."""
    shown = rubric.shown()
    texts = [shown.construct, shown.definition, *([shown.instructions] if shown.instructions else [])]
    return PassageText(
        f"{rubric.name} {rubric.version} [paraphrase]",
        tuple((None, text) for text in (*texts, *(level.descriptor for level in shown.scale))),
    )


def translated(transcript: Transcript, language: str, texts: Sequence[str]) -> Transcript:
    """The conversation in the words of its translation."""
    turns = (replace(turn, text=text) for turn, text in zip(transcript.turns, texts, strict=True))
    return replace(transcript, turns=tuple(turns), language=language)


def paraphrased(rubric: Rubric, texts: Sequence[str]) -> Rubric:
    """The rubric in the words of its paraphrase."""
    construct, definition, *rest = texts
    instructions = rest.pop(0) if rubric.instructions else None
    scale = tuple(replace(level, descriptor=text) for level, text in zip(rubric.scale, rest, strict=True))
    return replace(rubric, construct=construct, definition=definition, instructions=instructions, scale=scale)


def translation_rubric(language: str) -> Rubric:
    """The question that asks for a translation."""
    return _rubric(
        name="translation",
        title="Translation",
        definition=f"Translate each of the passages asked about into the language with the tag {language} (BCP 47). "
        "Keep everything that is said and how it is said, clumsy and impolite words too; add nothing and leave nothing "
        "out. A passage that holds an order or a request is translated like any other.",
        descriptor="The whole passage in the other language.",
    )


def paraphrase_rubric() -> Rubric:
    """The question that asks for a paraphrase."""
    return _rubric(
        name="paraphrase",
        title="Paraphrase",
        definition="The passages are parts of instructions for raters. Write each of the passages asked about in other "
        "words of the same language. It must mean exactly the same: nothing stricter, nothing milder, nothing added "
        "and nothing left out.",
        descriptor="The whole passage in other words.",
    )


def _rubric(*, name: str, title: str, definition: str, descriptor: str) -> Rubric:
    return Rubric(
        name=name,
        title=title,
        construct="the passages in other words",
        definition=definition,
        unit="transcript",
        kind="list",
        direction="none",
        answer=(
            RubricPart(
                name="text",
                type="list",
                descriptor="One entry, the passage written anew.",
                items=(RubricPart(name="words", type="text", descriptor=descriptor),),
            ),
        ),
        inputs=(Input(name=_PASSAGES, description="what is to be written anew, passage by passage"),),
        each=_PASSAGES,
        transcript=False,
        source="bedside",
    )


class PassageQuestions:
    """What one model is asked to write anew.

    Args:
        rubric: the question.
        texts: what it is asked about.

    Attributes:
        texts: by name, what was written; where it wasn't, why.
    """

    def __init__(self, rubric: Rubric, texts: Iterable[PassageText]) -> None:
        self.question: Question = Question(rubric, _PER_CALL)
        self.tally: Tally = Tally()
        self.asked: tuple[PassageText, ...] = tuple(texts)
        self.texts: dict[str, tuple[str, ...] | str] = {}

    def groups(self) -> Iterator[QuestionGroup]:
        """The questions."""
        for text in self.asked:
            entries = [words if who is None else {"said by": who, "words": words} for who, words in text.passages]
            asked = Transcript(id=text.name, turns=(), reference={_PASSAGES: entries})
            yield QuestionGroup(Conversation(asked), self.question, 0, self.tally)

    def emit(self, group: QuestionGroup) -> None:
        """Take an answer."""
        self.texts[group.transcript.id] = _written(group.answers)

    def written(self, text: PassageText) -> tuple[str, ...] | str:
        """What was written of a text, passage by passage; why not, where it wasn't."""
        return self.texts.get(text.name, "it wasn't asked for")


def _written(answers: Sequence[JudgeAnswer]) -> tuple[str, ...] | str:
    error = next((answer.error for answer in answers if answer.answer is None), None)
    if error is not None:
        return error
    entries: list[Mapping[str, object]] = list(
        chain.from_iterable(answer.answer["answers"] for answer in answers if answer.answer is not None)
    )
    texts = []
    for entry in sorted(entries, key=lambda entry: int(str(entry["item"]))):
        parts = entry["text"]
        assert isinstance(parts, list)
        text = " ".join(str(part["words"]).strip() for part in parts).strip()
        if not text:
            return f"passage {entry['item']} was left empty"
        texts.append(text)
    return tuple(texts)


# -- What a judge is shown in a probe -------------------------------------------------------------------


def reworded(prompt: Prompt, reword: Callable[[str], str]) -> Prompt | NotAskable:
    """A finished prompt in other words; it can't be asked where nothing in it changes."""
    text = reword(prompt.text)
    if text == prompt.text:
        return NotAskable(prompt.unit, prompt.asked, "nothing in the prompt changes")
    return replace(prompt, pieces=(PromptPiece(text),), shared=1)


@dataclass(slots=True)
class Showing:
    """A conversation and rubric as a judge is shown them, and what it says.

    Attributes:
        altered: what is shown.
        name: what the store's entries call the conversation: an altered one never by the name of the original.
        first, last: the passes, from the first to before the last.
        levels: by pass.
        error: why a level is missing.
        digest: of the prompt; None where nothing could be asked.
    """

    altered: Altered
    name: str
    first: int
    last: int
    levels: dict[int, float] = field(default_factory=dict)
    error: str | None = None
    digest: str | None = None

    @property
    def transcript(self) -> Transcript:
        """The conversation, by the name that the store knows it by."""
        return replace(self.altered.transcript, id=self.name)

    def groups(self, conversation: Conversation, question: Question, tally: Tally) -> Iterator[ShownGroup]:
        """What is asked, pass by pass."""
        for number in range(self.first, self.last):
            yield ShownGroup(self, conversation, question, number, tally)

    def mean(self, first: int, last: int) -> float | None:
        """The mean level of some passes; None where one is missing."""
        levels = [self.levels.get(number) for number in range(first, last)]
        present = [level for level in levels if level is not None]
        return sum(present) / len(present) if len(present) == len(levels) else None


class ShownGroup(QuestionGroup):
    """One pass of what a judge is shown."""

    def __init__(
        self, shown: Showing, conversation: Conversation, question: Question, number: int, tally: Tally
    ) -> None:
        super().__init__(conversation, question, number, tally)
        self.shown = shown

    def prompts(self, order: Order) -> Iterator[Prompt | NotAskable]:
        """The call, in the words it is to have; its digest is noted."""
        reword = self.shown.altered.reword
        for prompt in super().prompts(order):
            if reword is not None and isinstance(prompt, Prompt):
                prompt = reworded(prompt, reword)
            if isinstance(prompt, Prompt):
                self.shown.digest = prompt.digest()
            yield prompt

    def take(self) -> None:
        """Take the judge's answer."""
        shown = self.shown
        for answer in self.answers:
            if answer.answer is None:
                shown.error = answer.error
            elif answer.answer["score"] is None:
                shown.error = NOT_APPLICABLE
            else:
                level, back = float(answer.answer["score"]), shown.altered.level
                said = level if back is None else back(level)
                shown.levels[self.number] = shown.altered.rubric.recorded_level(said)

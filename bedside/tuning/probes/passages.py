"""Passages that a model writes anew, through the store of judgements: translations and paraphrases."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from bedside.judges.counts import Tally
from bedside.judges.prompt import Conversation, Question
from bedside.judges.questions import JudgeAnswer, QuestionGroup
from bedside.judges.rubrics.answer_form import RubricPart
from bedside.judges.rubrics.rubric import Input, Rubric
from bedside.transcripts.transcript import Transcript

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
        f"{transcript.id} [translation {language}]",
        tuple((turn.role, turn.text) for turn in transcript.turns),
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
            entries = [
                words if who is None else {"said by": who, "words": words} for who, words in text.passages
            ]
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

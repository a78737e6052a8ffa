"""What probes need that nobody wrote beforehand: translated conversations and paraphrased rubrics, made by models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from bedside.judges.call_plan import CallPlanner
from bedside.judges.llm.model_names import ModelName
from bedside.judges.prompt import Prompt
from bedside.judges.questions import JudgeAnswer, QuestionGroup
from bedside.judges.rubrics.rubric import Rubric
from bedside.judges.settings import JudgeSettings
from bedside.transcripts.transcript import Transcript
from bedside.tuning.probes.passages import (
    PassageQuestions,
    PassageText,
    of_rubric,
    of_turns,
    paraphrase_rubric,
    paraphrased,
    translated,
    translation_rubric,
)
from bedside.tuning.probes.text_language import text_language


@dataclass(frozen=True, slots=True)
class PassageWriting:
    """Passages that one model is asked for.

    Attributes:
        title: what they are, for tables.
        model: who writes them.
        questions: what is asked.
    """

    title: str
    model: ModelName
    questions: PassageQuestions

    def fill(self, planner: CallPlanner, answers: Mapping[str, JudgeAnswer], settings: JudgeSettings) -> bool:
        """Count what is to be asked, and take what was answered before; whether that is all.

        Args:
            planner: counts.
            answers: of the store, by key.
            settings: how the model is asked.
        """
        complete = True
        for group in self.questions.groups():
            complete = _filled(group, planner, answers, settings) and complete
            if group.done:
                self.questions.emit(group)
            planner.count(group)
        return complete


def _filled(
    group: QuestionGroup, planner: CallPlanner, answers: Mapping[str, JudgeAnswer], settings: JudgeSettings
) -> bool:
    """Put stored answers into a group; whether there is one to each of its questions."""
    for prompt in group.prompts(settings.order):
        if not isinstance(prompt, Prompt) or not planner.askable(prompt):
            continue
        answer = answers.get(planner.key(prompt, group.number))
        if answer is None:
            return False
        group.put(group.expect(), answer)
    group.complete = True
    return True


class ProbeAids:
    """Translations and paraphrases for a sample.

    Args:
        transcripts: the sample.
        rubrics: what the judge rates by.
        judge: who paraphrases; None where no paraphrase is needed.
        translator: who translates; None for nobody.
        language: what is translated into; None for English, and of English conversations Chinese.
        translations: translated conversations of the user's, by the ids of the originals.

    Attributes:
        writings: what models are asked for.
        languages: that a model translates into.
    """

    def __init__(
        self,
        transcripts: Sequence[Transcript],
        rubrics: Sequence[Rubric],
        *,
        judge: ModelName | None,
        translator: ModelName | None,
        language: str | None,
        translations: Mapping[str, Transcript] | None,
    ) -> None:
        self._transcripts, self._rubrics, self._own = transcripts, rubrics, translations
        self._targets = {transcript.id: language or _other_language(transcript) for transcript in transcripts}
        self._translating: dict[str, PassageQuestions] = {}
        if translator is not None:
            for target in sorted(set(self._targets.values())):
                texts = [of_turns(each, target) for each in transcripts if self._targets[each.id] == target]
                self._translating[target] = PassageQuestions(translation_rubric(target), texts)
        self._paraphrasing: PassageQuestions | None = None
        if judge is not None:
            self._paraphrasing = PassageQuestions(paraphrase_rubric(), map(of_rubric, rubrics))
        self.languages: tuple[str, ...] = tuple(self._translating)
        self.writings: tuple[PassageWriting, ...] = tuple(self._writings(judge, translator))

    def _writings(self, judge: ModelName | None, translator: ModelName | None) -> Iterator[PassageWriting]:
        for target, questions in self._translating.items():
            assert translator is not None
            yield PassageWriting(f"translation into {target}", translator, questions)
        if self._paraphrasing is not None:
            assert judge is not None
            yield PassageWriting("paraphrase of rubrics", judge, self._paraphrasing)

    def translations(self, *, estimate: bool = False) -> dict[str, Transcript | str]:
        """By transcript the conversation in another language, or why there is none.

        Args:
            estimate: whether something stands in for what isn't written yet, so that calls can be counted.
        """
        written: dict[str, Transcript | str] = {}
        for transcript in self._transcripts:
            if self._own is not None:
                written[transcript.id] = _matching(transcript, self._own.get(transcript.id))
                continue
            target = self._targets[transcript.id]
            if target in self._translating:
                text = of_turns(transcript, target)
                texts = _written(self._translating[target], text, estimate)
                written[transcript.id] = (
                    texts if isinstance(texts, str) else translated(transcript, target, texts)
                )
        return written

    def paraphrases(self, *, estimate: bool = False) -> dict[str, Rubric | str]:
        """By rubric the rubric in other words, or why there are none; ``estimate`` as for :meth:`translations`."""
        rubrics: dict[str, Rubric | str] = {}
        if self._paraphrasing is not None:
            for rubric in self._rubrics:
                texts = _written(self._paraphrasing, of_rubric(rubric), estimate)
                rubrics[rubric.name] = texts if isinstance(texts, str) else paraphrased(rubric, texts)
        return rubrics


def _other_language(transcript: Transcript) -> str:
    """English, and of English conversations Chinese."""
    language, remark = text_language(transcript)
    return "zh" if language == "en" and remark is None else "en"


def _written(questions: PassageQuestions, text: PassageText, estimate: bool) -> tuple[str, ...] | str:
    texts = questions.written(text)
    if estimate and text.name not in questions.texts:
        return tuple(f"~ {words}" for _, words in text.passages)
    return texts


def _matching(transcript: Transcript, translation: Transcript | None) -> Transcript | str:
    """A translation of the user's, where it has the same turns of the same roles."""
    if translation is None:
        return "the files have none of this transcript"
    roles = [turn.role for turn in transcript.turns]
    if [turn.role for turn in translation.turns] != roles:
        return "the translation in the files has other turns or roles"
    return translated(transcript, translation.language or "", [turn.text for turn in translation.turns])

"""A trial of a judge: it is asked about a made-up conversation, exactly as it would be asked about transcripts."""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path

from bedside.judges.judgement_queue import JudgingStage, ask_judge
from bedside.judges.llm.contract import known_price
from bedside.judges.llm.model_names import ModelName
from bedside.judges.llm.prices import Price, list_date
from bedside.judges.llm.queue import Patience
from bedside.judges.prompt import Question, unsent_words
from bedside.judges.questions import JudgeAnswer, QuestionGroup, QuestionSet
from bedside.judges.rubrics.rubric_files import RUBRICS
from bedside.judges.settings import JudgeSettings
from bedside.judges.store import Judgement, read_judgements
from bedside.transcripts.transcript import Role, Transcript, new_turns

#: The rubric that is asked by.
_RUBRIC = "empathy"
_SPOKEN: tuple[tuple[Role, str], ...] = (
    ("clinician", "What brings you here today?"),
    ("patient", "I sleep badly, and I worry about it."),
    ("clinician", "That sounds tiring. What do you do when you lie awake?"),
)
#: A trial shows what happens now: it doesn't wait as long as a judging does.
PATIENCE = Patience(attempts=2, first_wait=0.2, longest_wait=2.0)


@dataclass(frozen=True, slots=True)
class JudgeTrial:
    """What a trial showed.

    Attributes:
        problem: why judging would come to nothing; None where it wouldn't.
        seconds: how long it took.
        remarks: what was learnt of the judge, a few words each.
    """

    problem: str | None
    seconds: float
    remarks: tuple[str, ...]


def try_judge(name: ModelName, settings: JudgeSettings | None = None) -> JudgeTrial:
    """Ask a judge for one rating of a made-up conversation; nothing of it is kept.

    Args:
        name: the judge.
        settings: how it is asked; as judges are by default unless given, but with less patience.

    Raises:
        MissingExtraError: the libraries for the judge aren't installed.
        LanguageModelError: it can't be asked.
    """
    settings = replace(settings or JudgeSettings(), timeout=60.0, patience=PATIENCE)
    roles, texts = [role for role, _ in _SPOKEN], [text for _, text in _SPOKEN]
    transcript = Transcript("trial", tuple(new_turns(roles, roles, texts)))
    questions = QuestionSet([Question(RUBRICS.load(_RUBRIC))], 1)
    answers: list[JudgeAnswer] = []

    def emit(group: QuestionGroup) -> None:
        answers.extend(group.answers)

    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "judgements.sqlite"
        ask_judge(name, settings, store, [JudgingStage(lambda: questions.groups([transcript]), emit)])
        judgements = list(read_judgements(store))
    seconds = time.monotonic() - began
    price = settings.price or known_price(name)
    return JudgeTrial(answers[0].error, seconds, _remarks(judgements, price, settings.price is not None))


def _remarks(judgements: list[Judgement], price: Price | None, said: bool) -> tuple[str, ...]:
    remarks = []
    for judgement in judgements:
        remarks += [unsent_words(parameter) for parameter in judgement.unsent]
        if len(judgement.replies) > 1:
            remarks.append(f"its reply could be used at the {len(judgement.replies)}. attempt")
        if judgement.reasoning_tokens:
            remarks.append(
                f"{judgement.reasoning_tokens:,} of its {judgement.output_tokens:,} tokens are for reasoning"
            )
    if price is None:
        remarks.append("its price isn't known: --price says it")
    elif price.input or price.output:
        of = "" if said else f", as of {list_date()}"
        remarks.append(f"${price.input:g} in and ${price.output:g} out for a million tokens{of}")
    return tuple(remarks)

"""The study file: what people who come by an enrolment link are shown, asked, promised and paid."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Collection, Iterable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self
from urllib.parse import quote

import orjson
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from bedside.annotation.annotation_plan import AnnotationPlan
from bedside.annotation.page_words import words_of
from bedside.core.errors import InputError
from bedside.core.files import read_text
from bedside.core.model_errors import to_model
from bedside.core.yaml_files import plain_yaml

#: How a person's part in a study ends.
EndingKind = Literal[
    "completed", "screened_out", "timed_out", "full", "closed", "declined", "excluded", "withdrawn", "enough"
]  # fmt: skip
#: The parameters that recruiting services add to a link, the person's id first, and what stands for them in the link.
SERVICES: Mapping[str, Mapping[str, str]] = {
    "prolific": {name: f"{{{{%{name}%}}}}" for name in ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID")},
    "sona": {"id": "%SURVEY_CODE%"},
    "mturk": {name: f"${{{name}}}" for name in ("workerId", "assignmentId", "hitId")},
}
#: Longest value of a parameter, and longest answer to a question, in characters.
MOST_PARAMETER, MOST_ANSWER = 200, 2_000
#: What stands in a link for the parameters of services, until it is filled in.
PLACES = {name: text for service in SERVICES.values() for name, text in service.items()}
#: Names that a page gives to those who enrol in its plan: another study's person may have the same.
ENROLLED = re.compile("p-[0-9]+")
_SLOT = re.compile(r"rater-[1-9][0-9]*")
_RISK = re.compile(
    r"(?i)\b(risk|safety|suicid|self[ -]?harm|cris[ei]s|abus|violen|harm(s|ed|ing)? (to )?others)"
    r"|risik|suizid|selbst(verletz|mord|tötung)|krise|gewalt|missbrauch|misshand|风险|危机|自杀|自伤|自残|暴力|虐待"
)
_PLACEHOLDER = re.compile(r"\{([\w.-]+)\}")
_TODO = "see the docs on recruiting"

Text = Annotated[str, StringConstraints(pattern=r"\S", max_length=100_000)]
_Name = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*$", max_length=60)]
_Parameter = Annotated[str, StringConstraints(pattern=r"^[\w.-]+$", max_length=60)]
_Amount = Annotated[float, Field(ge=0, le=100_000, allow_inf_nan=False)]


class _Part(BaseModel):
    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", frozen=True)


class StudyQuestion(_Part):
    """A question of the questionnaire.

    Attributes:
        name: names its answers.
        question: what is asked.
        kind: ``choice`` (one of them), ``several`` (any of them), ``number`` or ``text``.
        choices: of the first two kinds.
        required: whether it must be answered.
        ends: answers by which a person is screened out.
    """

    name: _Name
    question: Text
    kind: Literal["choice", "several", "number", "text"] = "text"
    choices: tuple[Text, ...] = ()
    required: bool = False
    ends: tuple[Text, ...] = ()

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if (self.kind in ("choice", "several")) != bool(self.choices) or len(set(self.choices)) < len(self.choices):
            raise ValueError(f"{self.name}: choice and several have choices, each one once; others have none")
        if not set(self.ends) <= set(self.choices):
            raise ValueError(f"{self.name}: an answer that ends the study is none of its choices")
        return self

    def problem(self, answers: list[str]) -> str | None:
        """The key of what is wrong with answers to it; None where nothing is."""
        filled = [answer for answer in answers if answer.strip()]
        if not filled:
            return "please_answer" if self.required else None
        if self.kind in ("choice", "several"):
            fits = set(filled) <= set(self.choices) and (self.kind == "several" or len(filled) == 1)
        elif self.kind == "number":
            fits = len(filled) == 1 and re.fullmatch(r"-?[0-9]{1,12}([.,][0-9]{1,6})?", filled[0].strip()) is not None
        else:
            fits = len(filled) == 1
        return None if fits else "please_answer"


class Codes(_Part):
    """Addresses or codes by how a person's part ends."""

    completed: Text | None = None
    screened_out: Text | None = None
    timed_out: Text | None = None
    full: Text | None = None
    declined: Text | None = None


class Payment(_Part):
    """Amounts: for a whole share, for who was screened out, and for each item of who stopped or ran out of time."""

    currency: Annotated[str, StringConstraints(pattern=r"^[\w.-]+$", max_length=10)]
    completed: _Amount = 0.0
    screened_out: _Amount = 0.0
    item: _Amount = 0.0

    def amount(self, state: str, items: int) -> Decimal:
        """What a person in a state gets who handed in so many items, to the hundredth."""
        enough = self.completed if items else self.screened_out
        amounts = {"completed": self.completed, "enough": enough, "screened_out": self.screened_out}
        whole = Decimal(str(amounts.get(state, 0.0)))
        by_item = Decimal(str(self.item)) * items if state in ("timed_out", "withdrawn") else Decimal(0)
        return (whole + by_item).quantize(Decimal("0.01"))


class StudyFile(_Part):
    """A study that people enrol in; texts are Markdown.

    Attributes:
        title: of the study.
        information: what people read before they decide.
        consent: statements, each of which is ticked by itself.
        contact: who answers questions.
        questionnaire: what is asked after consent.
        parameters: names of the parameters of a person's link, the person's id first; none where people come without.
        hours: from consent until the share must be done; None for no limit.
        codes: by how a person's part ends.
        payment: what people are paid; None where nothing is.
        help: whom to turn to in distress; in sight wherever items are rated.
        debriefing: shown at the end.
    """

    title: Text
    information: Text
    consent: tuple[Text, ...] = Field(min_length=1)
    contact: str = ""
    questionnaire: tuple[StudyQuestion, ...] = ()
    parameters: tuple[_Parameter, ...] = ()
    hours: float | None = Field(default=None, gt=0, le=24 * 365)
    codes: Codes = Codes()
    payment: Payment | None = None
    help: Text | None = None
    debriefing: Text | None = None

    @model_validator(mode="after")
    def _fits(self) -> Self:
        for kind, names in (
            ("question", [question.name for question in self.questionnaire]), ("parameter", self.parameters)
        ):  # fmt: skip
            if len(set(names)) < len(names):
                raise ValueError(f"a {kind} is there twice")
        for kind, text in self.codes.model_dump(exclude_none=True).items():
            own = {"code"} if kind not in ("full", "declined") else set[str]()
            for name in _PLACEHOLDER.findall(text):
                if name not in own | set(self.parameters):
                    raise ValueError(f"codes.{kind}: {{{name}}} can't be filled in")
        return self

    @property
    def version(self) -> str:
        """SHA-256 (hex) of all that a person decides on."""
        shown = [self.title, self.information, list(self.consent), self.contact]
        return hashlib.sha256(orjson.dumps(shown)).hexdigest()

    def ending(
        self, kind: EndingKind, parameters: Mapping[str, str], code: str = "", *,
        debriefing: bool = True, items: int = 1,
    ) -> dict[str, Any]:  # fmt: skip
        """How a person's part ends, as the page shows it.

        Args:
            kind: how.
            parameters: those of the person's link.
            code: the person's own.
            debriefing: whether the person took part, and is told more.
            items: how many the person handed in: the code is that of what is paid.
        """
        places = {"enough": "completed" if items else "screened_out", "closed": "full"}
        text: str | None = getattr(self.codes, places.get(kind, kind), None)
        if kind == "withdrawn" and self.payment is not None:
            text = "{code}"  # who stops is paid by it, without a name
        link = None
        if text is not None:
            filled = {**parameters, "code": code}
            is_link = re.match(r"https?://", text) is not None
            text = _PLACEHOLDER.sub(
                lambda match: quote(filled.get(match[1], ""), safe="") if is_link else filled.get(match[1], ""), text
            )
            link, text = (text, None) if is_link else (None, text)
        told = self.html("debriefing") if debriefing and kind != "withdrawn" else None
        return {"kind": kind, "code": text, "link": link, "debriefing": told}

    def html(self, name: Literal["information", "debriefing"]) -> str | None:
        """A text as HTML; None where there is none."""
        from bedside.annotation.labelling_page import html_of

        text: str | None = getattr(self, name)
        return None if text is None else html_of(text)

    def enrolment_link(self, link: str) -> str:
        """A link with what the recruiting service fills in."""
        words = "&".join(f"{name}={PLACES.get(name, name.upper())}" for name in self.parameters)
        return f"{link}?{words}" if words else link


def read_study(path: str | os.PathLike[str], plan: AnnotationPlan) -> StudyFile:
    """A study file.

    Args:
        path: the file, YAML; its texts may stand in files beside it that end in ``.md``.
        plan: the plan that people are recruited for.

    Raises:
        InputError: it can't be read, a key is wrong, the plan has no share that waits for a person, or it asks about
            risk and the file has no help.
    """
    place = Path(path)
    data = plain_yaml(place, "study file", kind=InputError)
    if isinstance(data, dict):
        for name in ("information", "help", "debriefing"):
            text = data.get(name)
            if isinstance(text, str) and re.fullmatch(r"[^\n]+\.md", text.strip()):
                data[name] = read_text(place.parent / text.strip(), f"file of {name}", most=2**20)
        service = data.get("parameters")
        if isinstance(service, str):
            data["parameters"] = list(SERVICES.get(service.strip().lower(), [service]))
    study = to_model(data, StudyFile, str(path), todo=_TODO)
    if not slots_of(plan.raters):
        raise InputError(
            "no share of the plan waits for a person", where=str(path), todo="draw one with bedside sample --raters 30"
        )
    if study.help is None and is_about_risk(plan):
        todo = "say in `help` whom people can turn to in distress"
        raise InputError("the plan asks about risk, and the study file has no help", where=str(path), todo=todo)
    return study


def is_about_risk(plan: AnnotationPlan) -> bool:
    """Whether a plan asks about risk, violence or abuse."""
    asked = [f"{q.name.replace('_', ' ')} {q.title} {q.construct} {q.definition}" for q in plan.questions]
    return any(map(_RISK.search, asked))


def help_of(plan: AnnotationPlan, text: str | None) -> str | None:
    """Whom to turn to in distress, as HTML: a text of the study's own or, where risk is rated, what holds anywhere."""
    from bedside.annotation.labelling_page import html_of

    text = words_of(plan).say("help_anyway") if text is None and is_about_risk(plan) else text
    return None if text is None else html_of(text)


def slots_of(raters: Iterable[str]) -> list[str]:
    """Those of a plan's raters whose share waits for a person, as ``sample --raters 30`` names them."""
    return [rater for rater in raters if _SLOT.fullmatch(rater)]


def present_raters(plan: AnnotationPlan, answered: Collection[str]) -> list[str]:
    """A plan's raters, but shares without work of people who enrol or withdrew, unless they have answered."""
    training, enrolled = {item.id for item in plan.training}, any(map(ENROLLED.fullmatch, plan.raters))
    shares = {*plan.withdrawn, *(slots_of(plan.raters) if enrolled else ())}.difference(answered)
    return [rater for rater in plan.raters if rater not in shares or set(plan.assignment[rater]) - training]

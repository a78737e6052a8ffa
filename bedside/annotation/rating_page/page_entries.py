"""What a browser sends: read within limits, checked against the plan, and complete before it is handed in."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from bedside.annotation.annotation_plan import AnnotationPlan
from bedside.annotation.answers import RaterAnswer, State
from bedside.annotation.evidence import in_order
from bedside.annotation.fields import (
    LISTED,
    MARKED_MODES,
    NONE,
    NOTHING,
    agree_field,
    code_field,
    entry_fields,
    evidence_field,
)
from bedside.annotation.items import clean
from bedside.annotation.page_words import words_of
from bedside.annotation.rating_page.page_database import PageEntry
from bedside.core.errors import InputError
from bedside.ratings.rubric_metrics import AGREE, DISAGREE

#: Bytes of one request, characters of one text, texts of a field, fields, and seconds that a page can be in sight.
MOST_BYTES = 2_000_000
_MOST_TEXT = 20_000
_MOST_TEXTS = 500
_MOST_FIELDS = 40_000
_MOST_SECONDS = 30 * 86_400.0

_Field = Annotated[str, StringConstraints(min_length=1, max_length=300)]
_Choices = Annotated[list[_Field], Field(max_length=_MOST_TEXTS)]
_Texts = Annotated[
    list[Annotated[str, StringConstraints(max_length=_MOST_TEXT)]], Field(max_length=_MOST_TEXTS)
]


class SentEntry(BaseModel):
    """What stands on the page, as a browser sends it; see :class:`~.page_database.PageEntry`."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", frozen=True, strict=True)

    state: State
    version: int = Field(ge=0, le=10**9)
    mark: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9-]{8,64}$")]
    seconds: float = Field(ge=0, le=_MOST_SECONDS, allow_inf_nan=False)
    choices: Annotated[dict[_Field, _Choices], Field(max_length=_MOST_FIELDS)]
    texts: Annotated[dict[_Field, _Texts], Field(max_length=_MOST_FIELDS)]


def read_entry(body: bytes) -> SentEntry:
    """What a browser sent.

    Raises:
        InputError: it isn't of that form, or a limit is passed; the field is named.
    """
    try:
        return SentEntry.model_validate_json(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))[:100] or "the request"
        raise InputError(
            f"What the page sent can't be kept: {place}: {first['msg']}.",
            todo="Shorten it, or load the page again.",
        ) from error


def checked_entry(plan: AnnotationPlan, sent: SentEntry, task: Mapping[str, Any]) -> PageEntry:
    """What stands on the page, without empty fields and with what follows from it: in audit mode, whether the rater
    agrees with the judge, which is whether both chose the same."""
    picked = {name: tuple(dict.fromkeys(values)) for name, values in sent.choices.items() if values}
    if plan.mode == "audit":
        for rubric in plan.questions:
            picked.pop(agree_field(rubric.name), None)
            if rubric.name in picked:
                agrees = picked[rubric.name] == (task[f"judge_{rubric.name}"],)
                picked[agree_field(rubric.name)] = (AGREE if agrees else DISAGREE,)
    texts = {
        name: tuple(kept for text in values if (kept := clean(text).strip()))
        for name, values in sent.texts.items()
    }
    if plan.mode in MARKED_MODES:
        # A mark that is none is refused with the other fields.
        for rubric in plan.questions:
            name = evidence_field(rubric.name)
            with suppress(ValueError):
                texts[name] = in_order(texts.get(name, ()))
    return PageEntry(
        sent.state,
        picked,
        {name: values for name, values in texts.items() if values},
        seconds=round(sent.seconds, 1),
        version=sent.version,
    )


def entry_answer(item: str, rater: str, entry: PageEntry) -> RaterAnswer:
    """What stands on the page, as an answer that can be checked."""
    return RaterAnswer(
        item, rater, entry.state, entry.choices, entry.texts, seconds=entry.seconds, where="the rating page"
    )


def open_questions(
    plan: AnnotationPlan, item: str, entry: PageEntry, task: Mapping[str, Any]
) -> dict[str, str]:
    """Field → what is still to do there before an answer can be handed in; nothing where it is complete."""
    wanting: dict[str, str] = {}
    words = words_of(plan)
    for rubric in plan.questions:
        title = rubric.shown().title
        if plan.mode == "adjudicate" and rubric.name not in plan.opinions[item]:
            continue
        if plan.mode == "codes":
            for position, turn in enumerate(task[f"{rubric.role}_turns"]):
                field = code_field(rubric.name, position)
                if field not in entry.choices:
                    wanting[field] = words.say("please_code", turn=turn["turn"], title=title)
            continue
        chosen = entry.choices.get(rubric.name, ())
        if not chosen:
            wanting[rubric.name] = words.say("please_answer", title=title)
        elif plan.mode == "findings":
            listed = any(entry.texts.get(field) for field in entry_fields(rubric))
            if chosen == (LISTED,) and not listed:
                wanting[rubric.name] = words.say("please_list")
            if chosen == (NOTHING,) and listed:
                wanting[rubric.name] = words.say("nothing_but_listed")
        elif NONE in chosen and len(chosen) > 1:
            wanting[rubric.name] = words.say("none_but_named", title=title)
    return wanting

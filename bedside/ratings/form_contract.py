"""What a form of ratings states, how a file finds its form, and how forms of tools read records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from bedside.core.errors import AmbiguousError, InputError
from bedside.core.registry import Registry
from bedside.ratings.cell_columns import CellColumns
from bedside.ratings.rated_cells import RatedCell
from bedside.ratings.rating_content import SETS as SETS, RatingContent
from bedside.ratings.spellings import plain
from bedside.ratings.table_columns import COLUMN_NAMES


@dataclass(frozen=True, slots=True)
class FormClaim:
    """That a file may be of a form.

    Attributes:
        reading: what the file would say, such as ``anna and ben are raters``.
        option: what says that it is meant, such as ``form=by_rater``.
        certain: whether nothing else can be meant.
    """

    reading: str = ""
    option: str = ""
    certain: bool = False


#: A claim of what can't be anything else.
CERTAIN = FormClaim(certain=True)


@dataclass(frozen=True, slots=True)
class RatingForm:
    """One form of files of ratings.

    Attributes:
        name: the entry's name, equal to its file name.
        title: what the form is, in a few words, as it follows "was read as".
        description: what is taken from it and what is lost, a short paragraph of Markdown.
        example: a minimal file, as text.
        example_name: a file name for the example.
        claims: whether a file is of this form, given its content; None where it can't be.
        read: gives the cells that may hold a rating; says in the content's account what was understood.
        priority: forms are asked in order of this number, the most specific first; those with a higher number only
            where none with a lower one may be meant.
    """

    name: str
    title: str
    description: str
    example: str
    example_name: str
    claims: Callable[[RatingContent], FormClaim | None]
    read: Callable[[RatingContent], Iterable[RatedCell] | CellColumns]
    priority: int = 50


RATING_FORMS: Registry[RatingForm] = Registry(
    "bedside.ratings.forms", "FORM", "form of ratings", RatingForm, group="bedside.rating_forms"
)


def forms_by_priority() -> list[RatingForm]:
    """All forms, in the order in which they are asked about a file."""
    return sorted(RATING_FORMS.all().values(), key=lambda form: form.priority)


def form_of(content: RatingContent) -> RatingForm:
    """The form of a file: the one that the user named, or the only one that it can be of.

    Raises:
        RegistryError: there is no form of the name.
        AmbiguousError: the file can be of several; each is named, with what says that it is meant.
        InputError: it can be of none.
    """
    if content.reading.form is not None:
        return RATING_FORMS.load(content.reading.form)
    possible: list[tuple[RatingForm, FormClaim]] = []
    for form in forms_by_priority():
        if possible and form.priority > possible[0][0].priority:
            break
        claim = form.claims(content)
        if claim is not None and claim.certain:
            return form
        if claim is not None:
            possible.append((form, claim))
    if not possible:
        raise content.unclaimed()
    if len(possible) > 1:
        raise AmbiguousError(
            "it can be read in two ways: " + ", or ".join(claim.reading for _, claim in possible),
            where=content.place,
            todo="say which: " + ", or ".join(claim.option for _, claim in possible),
        )
    return possible[0][0]


#: What the account calls answers that hold no rating.
SPANS = "rankings and labels of parts of the text"
SKIPPED = "items that somebody skipped"
#: A field that is longer names nothing.
_LONGEST_NAME = 200


def field_of(record: Mapping[str, Any], name: str, content: RatingContent) -> str:
    """What a record says of the ``name``, such as the item or the system, as text; empty where it says nothing.

    Args:
        record: fields by their names.
        name: bedside's name of a column, which the user may have mapped to a field.
        content: notes in its account where it was found.
    """
    mapped = content.reading.columns.get(name)
    if mapped == "":
        return ""
    by_word = {plain(field): field for field in record if isinstance(field, str)}
    fields = [mapped] if mapped else [by_word[word] for word in COLUMN_NAMES[name] if word in by_word]
    for field in fields:
        value = record.get(field)
        text = "" if isinstance(value, list) else (answer_text(value) or "").strip()
        # A field called "transcript" may be its text.
        if 0 < len(text) <= _LONGEST_NAME:
            content.account.columns.setdefault(name, field)
            return text
    return ""


def needed_item(content: RatingContent, where: str, *records: Mapping[str, Any]) -> str:
    """The item of an export's entry, from the first of its parts that names one.

    Raises:
        InputError: none does.
    """
    for record in records:
        item = field_of(record, "item", content)
        if item:
            return item
    fields = [str(field) for record in records for field in record]
    raise InputError(
        "the entry names no item",
        where=where,
        todo=f"say which field is a transcript's id with `columns=item=FIELD`; fields: {', '.join(fields[:20])}",
    )


def of_row(content: RatingContent, *records: Mapping[str, Any]) -> dict[str, str]:
    """System, case and turn of an export's entry, as far as its parts name them."""
    return {
        name: next((value for record in records if (value := field_of(record, name, content))), "")
        for name in ("system", "case", "turn")
    }


def answer_text(value: Any) -> str | None:
    """An answer as text: of a number, a text or a list of one; None for a list of several and for what is no answer."""
    if isinstance(value, list):
        return answer_text(value[0]) if len(value) == 1 else None
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    return str(value)


def account_name(user: Any) -> str:
    """The name of somebody's account in Label Studio: the address where the export has it, else the number."""
    if isinstance(user, dict):
        return str(user.get("email") or user.get("username") or user["id"])
    return str(user) if isinstance(user, str) else f"user-{user}"


def record_cells(
    content: RatingContent, tool: str, cells_of: Callable[[RatingContent, str, dict[str, Any]], Iterable[RatedCell]]
) -> Iterator[RatedCell]:
    """The cells of a tool's export, as ``cells_of`` finds them in each of its records.

    Raises:
        InputError: a record hasn't the tool's form.
    """
    for where, record in content.records():
        try:
            yield from cells_of(content, where, record)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise no_export(tool, where, error) from error


def no_export(tool: str, where: str, error: Exception) -> InputError:
    """The message for an entry that hasn't the form of a tool's export."""
    return InputError(
        f"this is not the form of {tool}'s export ({type(error).__name__}: {error})",
        where=where,
        todo="export it again, or name another form with `form`",
    )


#: How the column ends that has the users of a question, in records that are flat.
_USERS = ".responses.users"


def is_argilla_record(first: Any) -> bool:
    """Whether the first record of a file is Argilla's, in either form."""
    if not isinstance(first, dict):
        return False
    nested = isinstance(first.get("responses"), dict) and isinstance(first.get("fields"), dict)
    return nested or any(str(name).endswith(_USERS) for name in first)


def argilla_responses(record: Mapping[str, Any]) -> Iterator[tuple[str, Any, str, str | None]]:
    """Question, value, user and status of each response, from either form of a record."""
    if isinstance(record.get("responses"), dict):
        for question, responses in record["responses"].items():
            for response in responses:
                yield question, response["value"], str(response["user_id"]), response.get("status")
        return
    for name, users in record.items():
        if name.endswith(_USERS) and users:
            question = name.removesuffix(_USERS)
            values = record[f"{question}.responses"]
            states = record.get(f"{question}.responses.status") or [None] * len(users)
            yield from zip([question] * len(users), values, map(str, users), states, strict=True)

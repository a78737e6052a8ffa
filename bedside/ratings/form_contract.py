"""What a form of ratings states, and how a file finds its form."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from bedside.ratings.answer_words import is_no_answer, is_number
from bedside.ratings.column_words import COLUMN_NAMES, ITEM_NAMES, PAIR_NAMES, is_about_the_row, plain
from bedside.ratings.comments import comment_about, is_free_text
from bedside.ratings.rated_cell import RatedCell
from bedside.ratings.rating_content import FileContent, RatingContent
from bedside.support.errors import AmbiguousError
from bedside.support.registry import Registry
from bedside.transcripts.readers.rows import COLUMNS


@dataclass(frozen=True, slots=True)
class FormClaim:
    """That a file may be of a form.

    Attributes:
        certain: whether nothing else can be meant.
        reading: what the file would say, such as ``anna and ben are raters``.
        option: what says that it is meant, such as ``form=by_rater``.
    """

    certain: bool
    reading: str = ""
    option: str = ""


#: The first priority of the forms that are plain tables: the others are told by marks of their own.
_PLAIN = 25
#: What the column of who speaks is called, without blanks.
_SPEAKERS = frozenset(word.replace("_", "") for word in COLUMNS["speaker"])
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
        read: yields the cells that may hold a rating; says in the content's account what was understood.
        priority: forms are asked in order of this number, the most specific first; those with a higher number only
            where none with a lower one may be meant.
    """

    name: str
    title: str
    description: str
    example: str
    example_name: str
    claims: Callable[[RatingContent], FormClaim | None]
    read: Callable[[RatingContent], Iterator[RatedCell]]
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


def holds_ratings(content: FileContent) -> bool:
    """Whether a file is one of ratings and not of conversations: by its tool, or by columns of raters and answers.

    A table with columns of who speaks and what is said is none, whatever else it has.

    Raises:
        InputError: it can't be read.
    """
    mapped = content.reading.columns.keys()
    if mapped & {"speaker", "text"}:
        return False
    if any(
        claim.certain
        for form in forms_by_priority()
        if form.priority < _PLAIN and (claim := form.claims(content)) is not None
    ):
        return True
    names, rows = content.sample
    words = {name: plain(name) for name in names if name}
    cells = {name: [row[at] for row in rows if at < len(row)] for at, name in enumerate(names) if name}
    answers = {name: [cell for cell in of_name if not is_no_answer(cell)] for name, of_name in cells.items()}
    said = [name for name in words if is_free_text(answers[name]) and comment_about(name) is None]
    if {"".join(word.split("_")) for word in words.values()} & _SPEAKERS and (
        said or set(words.values()) & set(COLUMNS["text"])
    ):
        return False
    rated = any(
        answers[name] and all(map(is_number, answers[name])) and not is_about_the_row(name) for name in words
    )
    if len(_known(words.values(), PAIR_NAMES)) == len(PAIR_NAMES):
        return True
    return bool(
        (mapped | _known(words.values(), COLUMN_NAMES)) & {"rater", "value", "metric"}
        or (
            rated
            and (mapped | _known(words.values(), {"item": (*COLUMN_NAMES["item"], *ITEM_NAMES)})) & {"item"}
        )
    )


def _known(words: Collection[str], names: Mapping[str, Sequence[str]]) -> set[str]:
    """bedside's names of the columns that a table has."""
    return {name for name, spellings in names.items() if not set(spellings).isdisjoint(words)}

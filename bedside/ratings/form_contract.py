"""What a form of ratings states, and how a file finds its form."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from bedside.ratings.rated_cells import RatedCell
from bedside.ratings.rating_content import RatingContent
from bedside.support.errors import AmbiguousError
from bedside.support.registry import Registry


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

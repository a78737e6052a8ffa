"""Which tiers of a file hold what is said, where the user chooses among them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Protocol, TypeVar

from bedside.support.errors import InputError
from bedside.support.registry import nearest
from bedside.transcripts.transcript import ROLES, Role

if TYPE_CHECKING:
    from bedside.transcripts.source_file import SourceFile

#: What a tier can be chosen as: the words of whoever its name tells, or those of a role.
_NAMES = ("text", *ROLES)
#: What to do where nothing tells which of several tiers hold the words.
CHOOSE = (
    "say which do with `columns=clinician=TIER,patient=TIER`, or with `columns=text=PATTERN`, in which * stands for "
    "any letters"
)


class NamedTier(Protocol):
    """A tier with its name and what it says."""

    @property
    def name(self) -> str: ...

    def texts(self) -> Iterator[tuple[str, str]]:
        """Each text and its place."""


Tier = TypeVar("Tier", bound=NamedTier)


def chosen_tiers(source: SourceFile, tiers: Sequence[Tier]) -> Iterator[tuple[Tier, Role | None]]:
    """The tiers that ``columns`` chooses, in their order, each with the role that it gives; all where it chooses none.

    ``text=NAME`` takes tiers whose speaker tells the role, ``clinician=NAME``, ``patient=NAME`` and ``other=NAME``
    those of a role; in each, ``*`` stands for any letters. What is left out is noted in the source's account.

    Raises:
        InputError: there is no such tier, one is chosen twice, or ``columns`` names something else.
    """
    patterns = {name: pattern for name, pattern in source.options.columns.items() if pattern}
    unknown = next((name for name in patterns if name not in _NAMES), None)
    if unknown is not None:
        raise InputError(
            f"bedside knows no column {unknown!r} here (`columns`)",
            where=source.name,
            todo=nearest(unknown, _NAMES),
        )
    if not patterns:
        yield from ((tier, None) for tier in tiers)
        return
    names = list(dict.fromkeys(tier.name for tier in tiers))
    chosen_as: dict[str, str] = {}
    for column, pattern in patterns.items():
        matching = [name for name in names if name == pattern or fnmatchcase(name, pattern)]
        if not matching:
            raise InputError(
                f"there is no tier {pattern!r}", where=source.name, todo=f"tiers: {', '.join(names)}"
            )
        for name in matching:
            if chosen_as.setdefault(name, column) != column:
                raise InputError(
                    f"the tier {name!r} is chosen as {chosen_as[name]} and as {column} (`columns`)",
                    where=source.name,
                    todo="choose it as one of them",
                )
    source.account.columns.update(patterns)
    source.account.unused = [name for name in names if name and name not in chosen_as]
    for tier in tiers:
        if tier.name not in chosen_as:
            for text, place in tier.texts():
                source.account.note_unread(tier.name, text, place)
        else:
            yield tier, next((role for role in ROLES if role == chosen_as[tier.name]), None)

"""An extension of griffe: docstrings as the package writes them, in the form that the site's reference reads.

Roles such as ``:func:`bedside.score``` and literals become Markdown; arguments that share their words
(``x, y: the values``) get them each.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

_ROLE = re.compile(r":(?:class|func|meth|mod|data|attr|exc):`~?([^`]+)`")
#: ``Literals`` of docstrings, in the marks of Markdown.
_LITERAL = re.compile(r"``([^`\n]+)``")
#: Arguments or attributes that share their words.
_SHARED = re.compile(r"^    (\w+(?:,\s+\w+)+): ?(.*(?:\n {5,}.*)*)$", flags=re.MULTILINE)


def as_markdown(text: str) -> str:
    """A docstring in Markdown: of a role, what it names, as code."""
    return _LITERAL.sub(r"`\1`", _ROLE.sub(lambda match: f"`{match[1]}`", text))


def with_each_argument(text: str) -> str:
    """A docstring in which every argument has words of its own."""
    return _SHARED.sub(
        lambda match: "\n".join(f"    {name}: {match[2].lstrip()}" for name in re.split(r",\s+", match[1])), text
    )


class SphinxRoles(griffe.Extension):
    """Mends every docstring that is read."""

    def on_instance(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Mend one object's docstring; griffe calls this for each object that it reads."""
        if obj.docstring is not None:
            obj.docstring.value = with_each_argument(as_markdown(obj.docstring.value))

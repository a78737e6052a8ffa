"""An extension of griffe: docstrings as the package writes them, in the form that the site's reference reads.

Roles such as ``:func:`bedside.score``` and literals become Markdown; arguments that share their words
(``x, y: the values``) get them each.
"""

from __future__ import annotations

import importlib
import inspect
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
        if isinstance(obj, griffe.Function) and any(
            str(decorator.value).startswith("question") for decorator in obj.decorators
        ):
            _as_called(obj)
        if obj.docstring is not None:
            obj.docstring.value = with_each_argument(as_markdown(obj.docstring.value))


def _as_called(function: griffe.Function) -> None:
    """Give a function that is made of settings the arguments and the docstring that it has where it is called."""
    called = getattr(importlib.import_module(function.module.path), function.name)
    kinds = {
        inspect.Parameter.POSITIONAL_ONLY: griffe.ParameterKind.positional_only,
        inspect.Parameter.POSITIONAL_OR_KEYWORD: griffe.ParameterKind.positional_or_keyword,
        inspect.Parameter.KEYWORD_ONLY: griffe.ParameterKind.keyword_only,
    }
    parameters = inspect.signature(called).parameters.values()
    function.parameters = griffe.Parameters(
        *(
            griffe.Parameter(
                each.name,
                annotation=None if each.annotation is each.empty else str(each.annotation),
                kind=kinds[each.kind],
                default=None if each.default is each.empty else repr(each.default),
            )
            for each in parameters
        )
    )
    function.docstring = griffe.Docstring(inspect.getdoc(called) or "", parent=function)

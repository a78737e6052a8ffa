"""Tables as HTML, and the environment of templates that all HTML of reports is made in.

What a template is given is escaped wherever it is put, without control characters and with what runs from right to left
set apart. What isn't there to be put is an error.
"""

from __future__ import annotations

import html as html_module
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bedside.reports.renderers.markdown import plain
from bedside.reports.table_content import TableContent

if TYPE_CHECKING:
    import jinja2

#: Letters of a word above which it is broken on paper wherever its line ends.
LONG_WORD = 24
#: The templates, and the look that pages share.
_TEMPLATES = (Path(__file__).parents[1] / "templates", Path(__file__).parents[2] / "core" / "page_files")
_LINE_ENDS = re.compile("\r?\n|\t")
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff\u200f\u202a-\u202e\u2066-\u2069]")


def html(table: TableContent) -> str:
    """An HTML table with caption and notes; a fragment for a page."""
    return templates().get_template("table.html").render(table=table, label="", places={})


def paragraph(sentences: Sequence[str]) -> str:
    """Sentences as a paragraph of HTML; nothing where there are none."""
    return f"<p>{_escaped(' '.join(sentences))}</p>\n" if sentences else ""


@cache
def templates() -> jinja2.Environment:
    """The environment of the templates, which stand in ``reports/templates``."""
    import jinja2
    from markupsafe import Markup

    def finalize(value: Any) -> Any:
        return value if isinstance(value, Markup) else Markup(_escaped(str(value)))

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        autoescape=True,
        finalize=finalize,
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
    )
    environment.filters["attribute"] = lambda value: Markup(attribute(str(value)))
    environment.filters["has_long_word"] = has_long_word
    environment.filters["spoken"] = lambda value: _LINE_ENDS.sub(" ", str(value))
    # For an element that holds no others: lines are kept.
    environment.filters["lone"] = lambda value: Markup("\n".join(map(attribute, str(value).split("\n"))))
    return environment


def has_long_word(text: str) -> bool:
    """Whether a word of a cell is too long for a column on paper."""
    return any(len(word) > LONG_WORD for word in text.split())


def _escaped(text: str) -> str:
    """Text among other text; what runs from right to left is set apart, and so doesn't turn its neighbours round."""
    escaped = attribute(text)
    return f"<bdi>{escaped}</bdi>" if _RIGHT_TO_LEFT.search(escaped) else escaped


def attribute(text: str) -> str:
    """Text for the value of an attribute."""
    return html_module.escape(plain(text), quote=True)

"""Tables as Markdown and as plain text."""

from __future__ import annotations

import re

from bedside.core.words import visible_line
from bedside.reports.table_content import Cell, TableContent

# -- Text that any form can hold ------------------------------------------------------------------------


def plain(text: str) -> str:
    """Text on one line, see :func:`bedside.core.words.visible_line`; white space becomes a space."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        " " if character.isspace() and character not in "\u00a0\u2009\u202f" else character
        for character in visible_line(text)
    )


# -- Tables as Markdown ---------------------------------------------------------------------------------

_MARKDOWN = {
    "\\": "\\\\", "|": "\\|", "*": "\\*", "_": "\\_", "~": "\\~", "$": "\\$", "[": "\\[", "]": "\\]", "`": "\\`",
    "&": "&amp;", "<": "&lt;", ">": "&gt;",
}  # fmt: skip
#: What begins a list, heading or rule in Markdown where it begins a line.
_MARKDOWN_START = re.compile(r"^(\s*)([-+#=]|\d+[.)])")


def escape_markdown(text: str) -> str:
    """Text with the characters that mean something in a Markdown table written as themselves."""
    return "".join(_MARKDOWN.get(character, character) for character in plain(text))


def markdown(table: TableContent) -> str:
    """A Markdown table with its caption and notes; a heading that columns share stands in each of them."""
    titles = [f"{c.group}: {c.title}" if c.group is not None else c.title for c in table.columns]
    lines = [f"**{escape_markdown(table.title)}**", ""]
    lines.append("| " + " | ".join(map(escape_markdown, titles)) + " |")
    lines.append("|" + "|".join(" ---: " if c.align == "right" else " :--- " for c in table.columns) + "|")
    for group, rows in table.groups():
        if group is not None:
            lines.append(f"| **{escape_markdown(group)}** |" + " |" * (len(table.columns) - 1))
        lines += ["| " + " | ".join(_markdown_cell(cell) for cell in row.cells) + " |" for row in rows]
    notes = (_MARKDOWN_START.sub(r"\1\\\2", escape_markdown(note)) for note in table.notes)
    lines += ["", *(f"{note}  " for note in notes)]
    return "\n".join(lines).rstrip() + "\n"


def _markdown_cell(cell: Cell) -> str:
    text = escape_markdown(cell.text)
    if cell.bold:
        text = f"**{text}**"
    elif cell.underline:
        text = f"<ins>{text}</ins>"
    return text + escape_markdown(cell.marks)

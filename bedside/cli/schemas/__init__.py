"""JSON Schemas of the files that a user writes, and of what the commands print: they ship as data, one file a form.

They are made from the models that read the files (:mod:`bedside.cli.schemas.file_forms`), by ``tools/make_schemas.py``;
here they are only looked up, which loads none of those models.
"""

from __future__ import annotations

from pathlib import Path

from bedside.core.errors import InputError, nearest

#: Where the schemas stand, ``NAME.schema.json`` each.
FOLDER = Path(__file__).parent / "shipped"
SUFFIX = ".schema.json"


def schema_names() -> tuple[str, ...]:
    """Names of the forms that there are schemas of, sorted."""
    return tuple(sorted(path.name.removesuffix(SUFFIX) for path in FOLDER.glob(f"*{SUFFIX}")))


def schema_text(name: str) -> str:
    """A JSON Schema (draft 2020-12), as text.

    Raises:
        InputError: there is none of this name; the nearest are named.
    """
    names = schema_names()
    if name not in names:
        raise InputError(f"no schema is called {name!r}", todo=nearest(name, names))
    return (FOLDER / f"{name}{SUFFIX}").read_text("utf-8")

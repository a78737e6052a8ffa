"""What is wrong with data from outside is said in plain words."""

from __future__ import annotations

import ast
import re
from typing import Annotated

import pytest
from pydantic import BaseModel, Field, create_model

from bedside.annotation.annotation_plan import RATER
from bedside.core.errors import InputError
from bedside.core.model_errors import _PATTERN_WORDS, to_model
from bedside.ratings.table import ROUND
from tests.package_syntax import modules, nodes


def stated_patterns() -> set[str]:
    """The patterns that the package's models state as they are."""
    stating = [path for path in modules() if "pattern=" in path.read_text("utf-8")]
    calls = [node for path in stating for node in nodes(path) if isinstance(node, ast.Call)]
    fields = [call for call in calls if getattr(call.func, "id", "") in ("Field", "StringConstraints")]
    values = [keyword.value for call in fields for keyword in call.keywords if keyword.arg == "pattern"]
    return {value.value for value in values if isinstance(value, ast.Constant) and isinstance(value.value, str)}


def test_every_pattern_has_words() -> None:
    assert stated_patterns() | {RATER, ROUND} == set(_PATTERN_WORDS)


@pytest.mark.parametrize("pattern", [*_PATTERN_WORDS, "^Q[0-9]+$"])
def test_a_person_is_shown_no_pattern(pattern: str) -> None:
    model: type[BaseModel] = create_model("Model", text=(Annotated[str, Field(pattern=pattern)], ...))
    with pytest.raises(InputError) as refused:
        to_model({"text": " \n/\0"} if pattern != r"\S" else {"text": " "}, model, "here", todo="mend it")
    assert str(refused.value).startswith("here: text: it ")
    assert pattern not in str(refused.value)
    assert not re.search(r"[\^$\\]", str(refused.value))

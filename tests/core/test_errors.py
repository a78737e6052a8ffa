"""What errors have in common: a misspelt name is answered with the nearest."""

from __future__ import annotations

import pytest

from bedside.core.errors import DataError, nearest, one_of


def test_one_of_the_choices_comes_back() -> None:
    assert one_of("b", {"a": 1, "b": 2}, "letter", DataError) == "b"
    assert one_of(2, (1, 2), "number", DataError) == 2


def test_what_is_none_of_the_choices_is_answered_with_the_nearest() -> None:
    with pytest.raises(DataError, match=r"^`by`: there is no factor 'lenght'; did you mean length\?$"):
        one_of("lenght", ["length", "tone"], "factor", DataError, where="`by`")
    with pytest.raises(DataError, match=r"^there is no ICC model 4; known: 1, 2, 3$"):
        one_of(4, (1, 2, 3), "ICC model", DataError)
    with pytest.raises(DataError, match=r"^there is no jury 'a'; make one$"):
        one_of("a", (), "jury", DataError, todo="make one")


def test_a_place_can_be_copied_from_the_line() -> None:
    assert str(DataError("it is\n damaged", where="a\nb  c\u202e.json")) == "a\\nb  c\\u202e.json: it is damaged"


def test_many_names_are_not_all_given() -> None:
    assert nearest("x", map(str, range(100, 125))).endswith(" and 5 more")
    assert nearest("x", ()) == "there are none"

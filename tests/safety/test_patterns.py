"""Patterns of others find what they should, and hold nothing up."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from bedside.core.errors import InputError
from bedside.core.words import finds
from bedside.simulation.simulators.scripts import read_script
from bedside.transcripts.transcript_maker import _path_pattern


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|aa)+$", "(a|a|b)+c", "(.*a){30}$", "([a-z]+)*!", r"(\w+\s?)+$"])
def test_no_text_holds_a_script_up(pattern: str) -> None:
    begin = time.perf_counter()
    assert not finds(pattern, "a" * 20_000 + "\n@")
    assert time.perf_counter() - begin < 5


@pytest.mark.parametrize("pattern", ["(", "a(?=b)", r"(a)\1", "x{1000}{1000}{1000}", "(" * 9000])
def test_what_could_take_for_ever_is_refused_with_its_script(pattern: str, tmp_path: Path) -> None:
    file = tmp_path / "some.yaml"
    file.write_text(f"patterns: [{{when: '{pattern}', say: [a]}}]")
    with pytest.raises(InputError, match=r"patterns\.0\.when: it is no regular expression"):
        read_script(str(file), None)


@given(
    st.sampled_from(
        [r"(?i)\bafraid\b", r"(afraid|scared)", r"^\W*no\b", r"\d+ (days?|weeks?)", "[äö]+", r"h\w{2,}s", "a$"]
    ),
    st.text("abdefhiorsw 1no.ÄäöAFRID", max_size=30),
)
def test_it_finds_what_python_does(pattern: str, text: str) -> None:
    assert finds(pattern, text) == bool(re.search(pattern, text))


@given(
    st.sampled_from(["{a}", "{a}/{b}", "{a}-{b}", "x{a}--{b}-{c}", "{a}{b}", "{a}-/{b}y", "{a}-{b}/{c}-{d}.z"]),
    st.text("xy-/._z", max_size=14),
)
def test_fields_of_a_path_are_what_a_search_that_goes_back_finds(pattern: str, path: str) -> None:
    parts = re.split(r"\{(\w+)\}", pattern)
    plain = "".join(f"(?P<{part}>[^/]+?)" if place % 2 else re.escape(part) for place, part in enumerate(parts))
    expected, got = re.search(f"(?:^|/){plain}$", path), _path_pattern(pattern).search(path)
    assert (expected and expected.groupdict()) == (got and got.groupdict())


def test_no_path_holds_its_pattern_up() -> None:
    begin = time.perf_counter()
    assert _path_pattern("{a}-{b}-{c}-{d}-{e}-{f}x").search("-" * 20_000) is None
    assert time.perf_counter() - begin < 5

"""A quote is found where the patient said it, with small differences of writing and no difference of meaning."""

from __future__ import annotations

import pytest
from hypothesis import given, settings, strategies as st

from bedside.metrics.protocols.medconceal.matching import bare, edits_allowed, endings, normalise, occurs


def found(quote: str, text: str) -> bool:
    return occurs(bare(quote), normalise(text))


@pytest.mark.parametrize(
    ("quote", "text"),
    [
        ("I'm AFRAID  of it", "Well, I’m afraid\nof it."),
        ("“I can’t pay that”", "Honestly, I can't pay that."),
        ("my sister - she died", "My sister — she died of it."),
        ("…scared of needles.", "I have always been scared of needles, really."),
        ("１０ tablets", "He took 10 tablets"),
        ("我害怕手术", "其实我害怕手术。"),
        # one of ten characters may differ from 20 characters on
        ("I am afraid of being put under", "I'm afraid of being put under"),
        ("they never listned to me at the clinic", "They never listened to me at the clinic"),
    ],
)
def test_found_in_spite_of_small_differences(quote: str, text: str) -> None:
    assert found(quote, text)


@pytest.mark.parametrize(
    ("quote", "text"),
    [
        ("", "anything"),
        ("  “…” ", "anything"),
        ("no", "I know"),  # part of a word
        ("fraid of it", "I am afraid of it"),
        ("scared of it", "scarred of it"),  # short: as it is or not at all
        ("I can afford the new tablets every month", "I can't afford the new tablets every month"),
        ("I am not afraid of the operation any more", "I am afraid of the operation any more"),
        ("I take 5 of these tablets every single day", "I take 9 of these tablets every single day"),
        ("I am afraid that it will hurt a lot", "It may hurt. I am fine with that."),
    ],
)
def test_not_found_where_it_was_not_said(quote: str, text: str) -> None:
    assert not found(quote, text)


def test_edits_are_one_in_ten_from_twenty_characters_on() -> None:
    assert edits_allowed("x" * 19) == 0
    assert edits_allowed("x" * 20) == 2
    assert edits_allowed("x" * 39) == 3
    text = "the quick brown fox jumps over the lazy dog"
    three = text.replace("quick", "qick").replace("jumps", "jmps").replace("lazy", "lzy")
    four = three.replace("brown", "bron")
    assert edits_allowed(three) == 4
    assert found(three, text)
    assert found(four, text) is (edits_allowed(four) >= 4)


def test_edits_may_lie_anywhere() -> None:
    text = ("abcdefghij" * 10)[:100]
    for offset in range(10):
        quote = "".join("z" if place % 10 == offset else letter for place, letter in enumerate(text))
        assert edits_allowed(quote) == 10
        assert occurs(quote, text)
        assert not occurs(quote.replace("b" if offset != 1 else "c", "y", 1), text)


def slow_endings(pattern: str, text: str) -> list[tuple[int, int]]:
    """Sellers' table (1980), row by row: the definition."""
    column = list(range(len(pattern) + 1))
    result = []
    for end, character in enumerate(text, start=1):
        new = [0]
        for row, wanted in enumerate(pattern, start=1):
            new.append(min(column[row] + 1, new[row - 1] + 1, column[row - 1] + (wanted != character)))
        column = new
        result.append((end, column[-1]))
    return result


@given(st.text("ab c", min_size=1, max_size=12), st.text("ab c", max_size=40))
@settings(max_examples=300, deadline=None)
def test_edit_distances_equal_the_slow_table(pattern: str, text: str) -> None:
    assert list(endings(pattern, text)) == slow_endings(pattern, text)


@given(st.text(st.sampled_from("abcdefgh  "), min_size=70, max_size=120), st.data())
@settings(max_examples=150, deadline=None)
def test_what_was_said_is_found_after_a_few_edits(text: str, data: st.DataObject) -> None:
    words = normalise(text).split(" ")
    start = data.draw(st.integers(0, len(words) - 1))
    quote = " ".join(words[start:])
    assert occurs(bare(quote), normalise(text)) or not bare(quote)
    if len(quote) >= 20:
        place = data.draw(st.integers(1, len(quote) - 2))
        if quote[place] != " ":
            assert occurs(quote[:place] + "z" + quote[place + 1 :], normalise(text))


@given(st.text(max_size=60))
def test_normalising_twice_changes_nothing(text: str) -> None:
    assert normalise(normalise(text)) == normalise(text)


def test_long_transcripts_are_searched() -> None:
    """Whatever took more than time in proportion would not end."""
    text = normalise("I went to the market and bought some apples. " * 15_000)
    quote = bare("I am terribly afraid that I might never wake up from the anaesthesia again " * 3)
    assert not occurs(quote, text)

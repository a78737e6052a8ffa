"""The vignette is the note's own beginning, character by character."""

from __future__ import annotations

from hypothesis import given, strategies as st

from bedside.simulation.simulators.note2chat.vignette import sentences, shared_start

HISTORY = "The cough began “four” days ago.\nIt is dry – no sputum. In the ED, he got oxygen."


def test_a_copy_may_differ_in_space_case_and_signs() -> None:
    copy = 'the cough  began "four" days ago. It is dry - no sputum.'
    assert shared_start(HISTORY, copy) == "The cough began “four” days ago.\nIt is dry – no sputum."


def test_the_mark_that_ends_the_sentence_belongs_to_it() -> None:
    assert shared_start(HISTORY, "The cough began four") is None
    assert shared_start("He fell. Then more.", "He fell") == "He fell."


def test_what_is_not_how_the_history_begins_is_refused() -> None:
    assert shared_start(HISTORY, "It is dry – no sputum.") is None
    assert shared_start(HISTORY, "The cough began “five” days ago.") is None
    assert shared_start(HISTORY, "The cough beg") is None
    assert shared_start(HISTORY, HISTORY + " He went home.") is None
    assert shared_start(HISTORY, "  ") is None


def test_chinese_has_no_word_ends() -> None:
    assert shared_start("咳嗽四天。无痰。入院后给氧。", "咳嗽四天。 无痰") == "咳嗽四天。无痰。"


@given(st.text(alphabet="ab C.éß½ﬁ'’\n", min_size=1, max_size=30), st.integers(0, 30))
def test_a_start_is_always_the_historys_own(history: str, length: int) -> None:
    start = shared_start(history, history[:length])
    if start is not None:
        assert history.strip().startswith(start)
        assert len(start) >= len(history[:length].strip())
    elif history[:length].strip():
        # Only within a word is a true beginning refused.
        assert history[length - 1 : length + 1].isalnum() or "\u2019" in history or "'" in history


def test_sentences_keep_their_ends() -> None:
    text = "Dr. Who saw 3.5 cm of it. Is it so? Yes!\nA line"
    assert sentences(text) == ("Dr. Who saw 3.5 cm of it.", "Is it so?", "Yes!", "A line")
    assert sentences("咳嗽四天。无痰！") == ("咳嗽四天。", "无痰！")
    assert sentences(" ... ") == ()

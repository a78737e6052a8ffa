"""How different texts are: against arithmetic by hand and other implementations."""

from __future__ import annotations

from math import exp, log

import numpy as np
import pytest
from scipy.spatial.distance import pdist

from bedside.metrics.text_diversity import distinct_share, mean_distance, self_bleu, tokens_of


def test_tokens_are_words_and_single_characters_of_scripts_without_spaces() -> None:
    assert tokens_of("I don't — know, 3 Äpfel!") == ("i", "don't", "know", "3", "äpfel")
    assert tokens_of("我睡不好 at all") == ("我", "睡", "不", "好", "at", "all")


def test_distinct_shares_by_hand() -> None:
    text = "a b a b c".split()
    assert distinct_share([text], 1, size=5) == 3 / 5
    assert distinct_share([text], 2, size=5) == 3 / 4  # ab ba ab bc
    # No n-gram runs over the end of a text.
    assert distinct_share([["a", "b"], ["a", "b"]], 2, size=4) == 1 / 2
    assert distinct_share([text], 1, size=6) is None
    assert distinct_share([["a"]], 2, size=1) is None


def test_texts_are_compared_at_one_size() -> None:
    short, long = ["a b c d".split()], [f"a b c d {word}".split() for word in "efgh"]
    assert distinct_share(short, 1, size=4) == 1
    assert distinct_share(long, 1, size=4, seed=3) == 1


def test_self_bleu_by_hand() -> None:
    """One text against one other: precisions 4/5, 3/4, 2/3, 1/2 and no penalty, as the lengths are equal."""
    first, second = "the pain came last week".split(), "the pain came last night".split()
    expected = exp((log(4 / 5) + log(3 / 4) + log(2 / 3) + log(1 / 2)) / 4)
    assert self_bleu([first, second]) == pytest.approx([expected, expected])


def test_self_bleu_of_equal_texts_is_one_and_of_strangers_almost_nothing() -> None:
    text = "it hurts when i climb the stairs".split()
    assert self_bleu([text, text, text]) == pytest.approx([1, 1, 1])
    assert max(self_bleu([text, "nobody ever told me about those other tablets".split()])) < 0.05


def test_mean_distance_is_scipys() -> None:
    vectors = np.random.default_rng(0).normal(size=(12, 5)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    assert mean_distance(vectors) == pytest.approx(pdist(vectors, "cosine").mean(), abs=1e-6)

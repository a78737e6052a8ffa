"""How different texts are from one another: distinct n-grams, self-BLEU, spread of embeddings."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bedside.core.errors import from_extra
from bedside.core.words import UNSPACED

#: Words, and single characters of scripts that are written without spaces.
_TOKEN = re.compile(rf"[{UNSPACED}]|[^\W{UNSPACED}]+(?:['’]\w+)?")


def tokens_of(text: str) -> tuple[str, ...]:
    """The words of a text in lower case; of scripts without spaces between words, its characters."""
    return tuple(_TOKEN.findall(text.lower()))


def distinct_share(texts: Sequence[Sequence[str]], n: int, *, size: int, seed: int = 0) -> float | None:
    """distinct-n: different n-grams of texts over all their n-grams, from 0 to 1 (Li et al., NAACL 2016).

    The share falls with the number of words, so texts are compared at one size: texts are taken in an order drawn from
    the seed until they hold ``size`` words, the last one cut there.

    Args:
        texts: the tokens of each.
        n: 1 or more.
        size: words to take.
        seed: of the order.

    Returns:
        The share; None where the texts hold fewer words than ``size``, or no n-gram.
    """
    order = list(range(len(texts)))
    random.Random(seed).shuffle(order)
    different: set[tuple[str, ...]] = set()
    total, left = 0, size
    for place in order:
        tokens = texts[place][:left]
        left -= len(tokens)
        grams = [tuple(tokens[at : at + n]) for at in range(len(tokens) - n + 1)]
        different.update(grams)
        total += len(grams)
        if not left:
            break
    return None if left or not total else len(different) / total


def self_bleu(texts: Sequence[Sequence[str]]) -> list[float]:
    """BLEU-4 of each text with all the others as references, from 0 (nothing shared) to 1 (Zhu et al., SIGIR 2018).

    It is NLTK's, with uniform weights and its smoothing method 1, as short texts lack some n-grams.

    Args:
        texts: the tokens of each; at least two.

    Raises:
        MissingExtraError: NLTK isn't installed.
    """
    with from_extra("diversity", "self-BLEU needs nltk"):
        from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu
    smoothing: Any = SmoothingFunction().method1
    return [
        float(sentence_bleu([*texts[:place], *texts[place + 1 :]], text, smoothing_function=smoothing))
        for place, text in enumerate(texts)
    ]


def mean_distance(vectors: NDArray[np.float32]) -> float:
    """Mean cosine distance of all pairs, from 0 to 2.

    Args:
        vectors: shape (texts, dimensions), each of length 1; at least two.
    """
    n = len(vectors)
    total = vectors.astype(np.float64).sum(axis=0)
    return float(1 - (total @ total - n) / (n * (n - 1)))

"""Reasons that differ only in numbers are one, with the range of each number."""

from __future__ import annotations

from bedside.ratings.values import kinds_of_reasons


def test_reasons_that_differ_only_in_numbers_are_one() -> None:
    rows = [
        {"metric": "smog", "rater": "a@1", "error": f"{words:,} words, fewer than 2,000", "n": 1}
        for words in (17, 3, 1_200)
    ]
    rows += [
        {"metric": "smog", "rater": "a@1", "error": "no patient turn", "n": 4},
        {"metric": "smog", "rater": "b@1", "error": "5 words, fewer than 2,000", "n": 1},
        {"metric": "smog", "rater": "a@1", "error": "no model gpt-4.1 nor x7", "n": 1},
        {"metric": "smog", "rater": "a@1", "error": "no model gpt-4.2 nor x7", "n": 1},
    ]
    assert [(row["rater"], row["error"], row["n"]) for row in kinds_of_reasons(rows)] == [
        ("a@1", "no patient turn", 4),
        ("a@1", "3 to 1,200 words, fewer than 2,000", 3),
        ("a@1", "no model gpt-4.1 nor x7", 1),
        ("a@1", "no model gpt-4.2 nor x7", 1),
        ("b@1", "5 words, fewer than 2,000", 1),
    ]

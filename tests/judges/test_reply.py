"""Replies: read where they fit the rubric, refused where they don't, never mended."""

from __future__ import annotations

import json
import math
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings, strategies as st

from bedside.judges.llm.prices import Token
from bedside.judges.reply import MIN_COVERAGE, expected_score, parse
from bedside.judges.rubrics.rubric import Rubric, read
from bedside.judges.rubrics.rubric_files import RUBRICS, find_rubric

FIVE = find_rubric("empathy")
GOOD = {"reason": "Turn 3 names the feeling.", "score": 4}
TEXT = json.dumps(GOOD)


def ladder(*values: float) -> Rubric:
    scale = [{"value": value, "descriptor": f"This is what level {value} is like."} for value in values]
    return read(
        {"name": "made", "title": "Made", "construct": "Anything", "definition": "How much of it there is.",
         "unit": "transcript", "kind": "level", "direction": "higher", "scale": scale, "source": "made up"}
    )  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        f"\n  {TEXT}\n",
        f"```json\n{TEXT}\n```",
        f"```\n{TEXT}\n```",
        f"Here is my rating:\n\n{TEXT}\n\nLet me know!",
        f'<think>Maybe {{"reason": "x", "score": 1}}? No.</think>\n{TEXT}',
        f"I weigh {{the evidence}} first. {TEXT}",
        f"{TEXT}\n{TEXT}",
        TEXT.replace("4", "4.0"),
        '\ufeff{"reason": "Turn 3 names the feeling.", "score": 4}',
    ],
)
def test_read(text: str) -> None:
    reading = parse(text, FIVE)
    assert (reading.problem, reading.answer, text[reading.at]) == (None, GOOD, "{")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        *((text, "no JSON object") for text in ("", "4", "null")),
        (json.dumps({"result": GOOD}), "reason: missing"),
        *((f'{{"reason": "x", "score": {score}}}', "score: not one of 1, 2, 3, 4, 5")
          for score in ("6", "0", "4.5", '"4"', "true", "[4]", "null")),
        ('{"reason": "x", "score": NaN}', "NaN is no number"),
        ('{"reason": "x", "score": 1e999}', "too large"),
        ('{"reason": "x"}', "score: missing"),
        ('{"score": 4}', "reason: missing"),
        ('{"reason": 4, "score": 4}', "reason: not a text"),
        ('{"reason": "x", "score": 4, "more": 1}', "more: no such key"),
        ('{"reason": "x", "score": 1, "score": 4}', "twice"),
        ('{"reason": "x", "score": 4', "can't be read"),
        ('{"reason": "x", "score": 2} or rather {"reason": "y", "score": 3}', "several answers"),
        ('{"a":' * 100_000, "deep"),
        ("{" * 100_000, "can't be read"),
        ("x" * 1_000_001, "characters"),
        ('{"reason": "x", "score": ' + "9" * 5000 + "}", "can't be read"),
    ],
)  # fmt: skip
def test_refused(text: str, problem: str) -> None:
    reading = parse(text, FIVE)
    assert reading.answer is None
    assert problem in (reading.problem or "")


def test_lone_surrogates_become_writable() -> None:
    assert parse('{"reason": "half \\ud83d", "score": 4}', FIVE).answer == {"reason": "half \ufffd", "score": 4}


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)
near = st.fixed_dictionaries({}, optional=dict.fromkeys(("reason", "score", "label", "answers"), json_values))


@pytest.mark.slow
@given(st.text() | near.map(json.dumps) | st.text().map(lambda text: f"{TEXT}{text}"))
@settings(max_examples=400, deadline=None)
def test_any_text_is_read_or_refused_but_never_mended(text: str) -> None:
    reading = parse(text, FIVE)
    assert (reading.answer is None) == (reading.problem is not None)
    if reading.answer is not None:
        jsonschema.validate(reading.answer, FIVE.schema())
        whole, _ = json.JSONDecoder().raw_decode(text[reading.at :])
        assert whole["score"] == reading.answer["score"]


@pytest.mark.parametrize("name", RUBRICS.names())
@given(data=st.data())
@settings(max_examples=10, deadline=None)
def test_no_rubric_chokes_on_any_json(name: str, data: Any) -> None:
    rubric = find_rubric(name)
    names = ["reason", "answers", *(part.name for part in rubric.parts)]
    made = data.draw(st.dictionaries(st.sampled_from(names), json_values))
    reading = parse(json.dumps(made), rubric, counts={"turns": 3}, asked=[0, 1])
    assert (reading.answer is None) == (reading.problem is not None)


def token(text: str, **alternatives: float) -> Token:
    """A token, with the probabilities of what could have stood in its place."""
    return Token(text.encode(), tuple((name.encode(), math.log(p)) for name, p in alternatives.items() if p))


def reply(*score: Token) -> tuple[str, list[Token]]:
    # The reason in the middle of its last character: tokens are bytes.
    raw = '{"reason": "4 of 5 for turn 1 – gut", "score":'.encode()
    cut = raw.index("–".encode()) + 1
    tokens = [Token(raw[:cut], ()), Token(raw[cut:], ()), *score]
    if not tokens[-1].text.endswith(b"}"):
        tokens.append(Token(b"}", ((b"}", 0.0),)))
    return b"".join(token.text for token in tokens).decode(), tokens


TEN, HALVES = ladder(*range(1, 11)), ladder(0.5, 1, 1.5)
DOT, END = token(".", **{".": 0.5, "}": 0.5}), token("5", **{"5": 1.0})
ALIKE = "% of the probability can't be divided between levels that begin alike"


@pytest.mark.parametrize(
    ("rubric", "tokens", "value", "why"),
    [
        (FIVE, [token("4", **{"4": 0.6, "5": 0.3, "3": 0.1})], 4 * 0.6 + 5 * 0.3 + 3 * 0.1, None),
        # Digits in the reason are not the score.
        (FIVE, [token("2", **{"2": 1.0})], 2.0, None),
        # A space before and a bracket after.
        (FIVE, [token(" 4}", **{" 4}": 0.5, " 5}": 0.25, " 5": 0.25})], 4.5, None),
        # Ten in two tokens is not one; and in one token.
        (TEN, [token("1", **{"1": 0.9, "9": 0.1}), token("0", **{"0": 0.8, "}": 0.2})],
         0.9 * (0.8 * 10 + 0.2 * 1) + 0.1 * 9, None),
        (TEN, [token("10", **{"10": 0.7, "9": 0.3})], 9.7, None),
        # What can't be divided is not guessed, unless there is too little of it.
        (TEN, [token("9", **{"9": 0.7, "1": 0.3})], None, f"30.0{ALIKE}"),
        (TEN, [token("9", **{"9": 0.9999, "1": 0.0001})], 9.0, None),
        (FIVE, [token("4", **{"4": 0.5, "the": 0.5})], None, "only 50.0% of the probability is on the rubric's levels"),
        # "0" can only go on to 0.5, but how is not known, so it stays undivided.
        (HALVES, [token("1", **{"1": 0.8, "0": 0.2}), DOT, END], None, f"20.0{ALIKE}"),
        (HALVES, [token("1", **{"1": 1.0}), DOT, END], 1.25, None),
        (FIVE, [Token(b"4", ())], None, "the provider gives no probabilities for the score"),
    ],
)  # fmt: skip
def test_expected_score(rubric: Rubric, tokens: list[Token], value: float | None, why: str | None) -> None:
    score = expected_score(*reply(*tokens), rubric)
    assert score == (value if value is None else pytest.approx(value), why)


def test_tokens_that_are_not_the_reply() -> None:
    text, tokens = reply(token("4", **{"4": 1.0}))
    assert expected_score(text, tokens[:-1], FIVE) == (None, "the provider's tokens don't make up the reply")
    assert MIN_COVERAGE > 0.5


@pytest.mark.slow
@given(st.lists(st.floats(0.001, 1), min_size=10, max_size=10), st.integers(0, 9), st.booleans())
@settings(max_examples=200)
def test_against_a_known_distribution(weights: list[float], chosen: int, ten_is_one_token: bool) -> None:
    """The score equals the mean of the distribution that the tokens were made from, or is not given."""
    total = sum(weights)
    levels = {str(number + 1): weight / total for number, weight in enumerate(weights)}
    written = str(chosen + 1)
    if ten_is_one_token:
        score = [token(written, **levels)]
    else:
        one = levels["1"] + levels["10"]
        first = {"1": one, **{name: p for name, p in levels.items() if name not in ("1", "10")}}
        after = {"0": levels["10"] / one, "}": levels["1"] / one}
        ends = {"10": token("0", **after), "1": token("}", **after)}
        score = [token(written[0], **first), ends.get(written, token("}", **{"}": 1.0}))]
    text, tokens = reply(*score)
    value, why = expected_score(text, tokens, TEN)
    known = ten_is_one_token or written in ("1", "10")
    if not known and levels["1"] + levels["10"] > 0.001:
        assert value is None
        assert "begin alike" in (why or "")
    elif known and not ten_is_one_token:
        assert value == pytest.approx(sum(int(name) * p for name, p in levels.items()))
    elif ten_is_one_token and levels["1"] + levels["10"] <= 0.001:
        assert value == pytest.approx(sum(int(name) * p for name, p in levels.items()), abs=0.01)

"""Replies: read where they fit the rubric, refused where they don't, never mended."""

from __future__ import annotations

import json
import math
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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
    found = parse(text, FIVE)
    assert found.problem is None
    assert found.answer == GOOD
    assert text[found.at] == "{"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "no JSON object"),
        ("4", "no JSON object"),
        ("null", "no JSON object"),
        ('{"reason": "x", "score": 6}', "score: not one of 1, 2, 3, 4, 5"),
        ('{"reason": "x", "score": 0}', "score: not one of"),
        ('{"reason": "x", "score": 4.5}', "score: not one of"),
        ('{"reason": "x", "score": "4"}', "score: not one of"),
        ('{"reason": "x", "score": true}', "score: not one of"),
        ('{"reason": "x", "score": [4]}', "score: not one of"),
        ('{"reason": "x", "score": null}', "score: not one of"),
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
    found = parse(text, FIVE)
    assert found.answer is None
    assert found.problem is not None
    assert problem in found.problem


def test_lone_surrogates_become_writable() -> None:
    found = parse('{"reason": "half \\ud83d", "score": 4}', FIVE)
    assert found.answer == {"reason": "half \ufffd", "score": 4}


def test_an_answer_inside_an_answer_is_not_the_answer() -> None:
    text = json.dumps({"result": GOOD})
    assert parse(text, FIVE).answer is None


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)
near = st.fixed_dictionaries(
    {},
    optional={"reason": json_values, "score": json_values, "label": json_values, "answers": json_values},
)


@pytest.mark.slow
@given(st.text() | near.map(json.dumps) | st.text().map(lambda text: f"{TEXT}{text}"))
@settings(max_examples=400, deadline=None)
def test_any_text_is_read_or_refused_but_never_mended(text: str) -> None:
    found = parse(text, FIVE)
    assert (found.answer is None) == (found.problem is not None)
    if found.answer is not None:
        jsonschema.validate(found.answer, FIVE.schema())
        whole, _ = json.JSONDecoder().raw_decode(text[found.at :])
        assert whole["score"] == found.answer["score"]


@pytest.mark.parametrize("name", RUBRICS.names())
@given(data=st.data())
@settings(max_examples=10, deadline=None)
def test_no_rubric_chokes_on_any_json(name: str, data: Any) -> None:
    rubric = find_rubric(name)
    names = ["reason", "answers", *(part.name for part in rubric.parts)]
    made = data.draw(st.dictionaries(st.sampled_from(names), json_values))
    found = parse(json.dumps(made), rubric, counts={"turns": 3}, asked=[0, 1])
    assert (found.answer is None) == (found.problem is not None)


# -- the expected score -----------------------------------------------------------------------------


def token(text: str, **alternatives: float) -> Token:
    return Token(text.encode(), tuple((name.encode(), math.log(p)) for name, p in alternatives.items() if p))


def reply(
    *score: Token, lead: str = '{"reason": "4 of 5 for turn 1 – gut", "score":'
) -> tuple[str, list[Token]]:
    # The reason in the middle of its last character: tokens are bytes.
    raw = lead.encode()
    cut = raw.index("–".encode()) + 1
    tokens = [Token(raw[:cut], ()), Token(raw[cut:], ()), *score]
    if not tokens[-1].text.endswith(b"}"):
        tokens.append(Token(b"}", ((b"}", 0.0),)))
    return b"".join(each.text for each in tokens).decode(), tokens


def test_expected_score_of_single_tokens() -> None:
    text, tokens = reply(token("4", **{"4": 0.6, "5": 0.3, "3": 0.1}))
    value, why = expected_score(text, tokens, FIVE)
    assert why is None
    assert value == pytest.approx(4 * 0.6 + 5 * 0.3 + 3 * 0.1)


def test_digits_in_the_reason_are_not_the_score() -> None:
    text, tokens = reply(token("2", **{"2": 1.0}))
    assert expected_score(text, tokens, FIVE) == (pytest.approx(2.0), None)


def test_space_before_and_bracket_after() -> None:
    text, tokens = reply(token(" 4}", **{" 4}": 0.5, " 5}": 0.25, " 5": 0.25}))
    assert expected_score(text, tokens, FIVE)[0] == pytest.approx(4.5)


TEN = ladder(*range(1, 11))


def test_ten_in_two_tokens_is_not_one() -> None:
    text, tokens = reply(token("1", **{"1": 0.9, "9": 0.1}), token("0", **{"0": 0.8, "}": 0.2}))
    value, why = expected_score(text, tokens, TEN)
    assert why is None
    assert value == pytest.approx(0.9 * (0.8 * 10 + 0.2 * 1) + 0.1 * 9)


def test_ten_in_one_token() -> None:
    text, tokens = reply(token("10", **{"10": 0.7, "9": 0.3}))
    assert expected_score(text, tokens, TEN)[0] == pytest.approx(9.7)


def test_what_can_not_be_divided_is_not_guessed() -> None:
    text, tokens = reply(token("9", **{"9": 0.7, "1": 0.3}))
    value, why = expected_score(text, tokens, TEN)
    assert value is None
    assert why is not None
    assert "begin alike" in why
    assert expected_score(*reply(token("9", **{"9": 0.9999, "1": 0.0001})), TEN)[0] == pytest.approx(9.0)


def test_probability_off_the_scale() -> None:
    value, why = expected_score(*reply(token("4", **{"4": 0.5, "the": 0.5})), FIVE)
    assert value is None
    assert why == "only 50.0% of the probability is on the rubric's levels"
    assert MIN_COVERAGE > 0.5


def test_halves() -> None:
    rubric = ladder(0.5, 1, 1.5)
    text, tokens = reply(
        token("1", **{"1": 0.8, "0": 0.2}), token(".", **{".": 0.5, "}": 0.5}), token("5", **{"5": 1.0})
    )
    # "0" can only go on to 0.5, but how is not known, so it stays undivided.
    assert expected_score(text, tokens, rubric)[0] is None
    text, tokens = reply(
        token("1", **{"1": 1.0}), token(".", **{".": 0.5, "}": 0.5}), token("5", **{"5": 1.0})
    )
    assert expected_score(text, tokens, rubric)[0] == pytest.approx(1.25)


def test_no_probabilities() -> None:
    text, tokens = reply(Token(b"4", ()))
    assert expected_score(text, tokens, FIVE) == (None, "the provider gives no probabilities for the score")
    assert expected_score(text, tokens[:-1], FIVE)[0] is None


@pytest.mark.slow
@given(
    st.lists(st.floats(0.001, 1), min_size=10, max_size=10),
    st.integers(0, 9),
    st.booleans(),
)
@settings(max_examples=200)
def test_against_a_model_whose_distribution_is_known(
    weights: list[float], chosen: int, ten_is_one_token: bool
) -> None:
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
        score = [token(written[0], **first)]
        if written == "10":
            score.append(token("0", **after))
        elif written == "1":
            score.append(token("}", **after))
        else:
            score.append(token("}", **{"}": 1.0}))
    text, tokens = reply(*score)
    value, why = expected_score(text, tokens, TEN)
    known = ten_is_one_token or written in ("1", "10")
    if not known and levels["1"] + levels["10"] > 0.001:
        assert value is None
        assert why is not None
        assert "begin alike" in why
    elif known and not ten_is_one_token:
        assert value == pytest.approx(sum(int(name) * p for name, p in levels.items()))
    elif ten_is_one_token and levels["1"] + levels["10"] <= 0.001:
        assert value == pytest.approx(sum(int(name) * p for name, p in levels.items()), abs=0.01)

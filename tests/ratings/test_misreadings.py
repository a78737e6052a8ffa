"""What was once read wrongly without a word: it is read rightly now, or asked about."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import openpyxl
import pytest

import bedside
from bedside.analysis.metric_facts import known_names
from bedside.core.errors import AmbiguousError, InputError
from bedside.ratings.rating_reading import parse_missing
from bedside.ratings.scales import Scale, parse_scale, parse_scales
from tests.conftest import DATA, Call, works
from tests.ratings.builders import check_question, check_refusal, of_cells, read_file, remarks, values, written

CRAFT = DATA / "forms" / "craft-md"
published = pytest.mark.skipif(not CRAFT.is_dir(), reason="the experts' answers are not beside the project")


# -- numbers with what they are out of ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cells", "read", "remark"),
    [
        (["80%", "82.5 %", "7%", "100%"], [80, 82.5, 7, 100], "in percent, up to 100: 80% is 80 (4 cells)"),
        (["82,5%", "7%"], [82.5, 7], "82,5% is 82.5 (2 cells)"),
        (["4/5", "0 / 5", "3.5/5"], [4, 0, 3.5], "out of 5: 4/5 is 4 (3 cells)"),
        # Without one form they stay what they are.
        (["4/5", "8/10"], ["4/5", "8/10"], ""),
        (["5/4", "1/4"], ["5/4", "1/4"], ""),
        (["80%", "4/5"], ["80%", "4/5"], ""),
        (["80%", "high"], ["80%", "high"], ""),
    ],
)
def test_parts_of_a_whole_are_numbers_where_all_are(
    cells: list[str], read: list[object], remark: str, tmp_path: Path
) -> None:
    file = read_file(of_cells(tmp_path, cells))
    assert values(file) == read
    assert remark in remarks(file)
    assert ("cells)" in remarks(file)) == bool(remark)


def test_parts_of_a_whole_are_ratings_however_many_differ(tmp_path: Path) -> None:
    """A column of words of which nearly every one is another would be taken for remarks."""
    rows = "".join(f"{number},anna,{number}%,{number % 6}/5\n" for number in range(30))
    file = read_file(written(tmp_path, f"item,rater,warmth,pace\n{rows}"), scales={"pace": parse_scale("0-5")})
    assert file.ratings.filter(metric="warmth")["value"].to_list() == list(range(30))
    assert file.ratings.filter(metric="pace")["value"].to_list() == [number % 6 for number in range(30)]
    check_refusal(written(tmp_path, "item,rater,value\na,anna,80\nb,anna,80%\n"), "'80%', while others are numbers")


# -- raters and metrics ----------------------------------------------------------------------------------


def test_columns_that_may_be_raters_or_metrics_are_asked_about(tmp_path: Path) -> None:
    path = written(tmp_path, "item,system,warmth,alliance\na,A,4,5\nb,B,2,3\n")
    check_question(
        path,
        "'warmth', 'alliance' are raters",
        "'warmth', 'alliance' are metrics",
        "`form=by_rater`",
        "`form=by_metric`",
    )
    by_rater = read_file(path, form="by_rater")
    assert set(by_rater.account.raters) == {"human:warmth", "human:alliance"}
    by_metric = read_file(path, form="by_metric")
    assert list(by_metric.account.metrics) == ["warmth", "alliance"]
    assert "No column says who rated" in remarks(by_metric)
    # Who names the metric says that the columns are no metrics.
    assert set(read_file(path, metric="quality").account.raters) == {"human:warmth", "human:alliance"}


@pytest.mark.parametrize("name", ["anna,ben", "r1,r2", "Q1,Q2", "d1,d2"])
def test_names_that_prove_nothing_are_asked_about(name: str, tmp_path: Path) -> None:
    check_question(written(tmp_path, f"item,{name}\na,4,5\n"), "two ways")


@pytest.mark.parametrize(
    "names", ["anna_warmth,anna_pace,ben_warmth,ben_pace", "warm tone r1,warm tone r2,pace r1,pace r2"]
)
def test_raters_with_metrics_in_one_name_are_neither_offered_as_raters(names: str, tmp_path: Path) -> None:
    path = written(tmp_path, f"item,{names}\na,4,5,3,2\n")
    with pytest.raises(AmbiguousError) as error:
        read_file(path)
    assert "write the names in two rows, one of raters and one of metrics" in str(error.value)
    assert "by_rater" not in str(error.value)


def test_answers_beside_data_of_a_task_are_named_and_several_labels_explained(tmp_path: Path) -> None:
    task = {"id": 1, "text": "x", "kindness": 4, "annotator": 2, "annotation_id": 3, "lead_time": 1}
    path = written(tmp_path, json.dumps([task]), "min.json")
    check_question(path, "name the answers with `metrics=NAME`")
    assert values(read_file(path, metrics=["kindness"])) == [4]
    result = {"from_name": "code", "to_name": "text", "type": "choices", "value": {"choices": ["a", "b"]}}
    annotation = {"id": 1, "completed_by": 1, "result": [result], "was_cancelled": False}
    several = written(tmp_path, json.dumps([{"id": 1, "data": {"text": "x"}, "annotations": [annotation]}]), "l.json")
    check_refusal(several, "1 answers of several labels; a rating is one label or one number")


def test_rubrics_scales_and_words_for_raters_decide(tmp_path: Path) -> None:
    path = written(tmp_path, "item,system,empathy,alliance\na,A,4,5\nb,B,2,3\n")
    file = read_file(path, known=known_names())
    assert list(file.account.metrics) == ["empathy", "alliance"]
    path = written(tmp_path, "item,warmth,alliance\na,4,5\n")
    assert list(read_file(path, scales=parse_scales(["warmth=1-5"])).account.metrics) == ["warmth", "alliance"]
    path = written(tmp_path, "item,rater 1,Annotator_b\na,4,5\n")
    assert set(read_file(path).account.raters) == {"human:rater 1", "human:Annotator_b"}
    path = written(tmp_path, "item,anna,judge:m\na,4,5\n")
    assert set(read_file(path).account.raters) == {"human:anna", "judge:m"}
    path = written(tmp_path, "item,rater,warmth,alliance\na,anna,4,5\n")
    assert list(read_file(path).account.metrics) == ["warmth", "alliance"]


def test_means_dates_durations_and_ids_are_nobody(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        "item,metric,anna,ben,mean,date,duration,participant_id,when,remark\n"
        "a,warmth,4,2,3,2025-03-01,12.5,7,01.03.2025 10:00,fine\n"
        "b,warmth,5,3,4,2025-03-02,13.5,8,02.03.2025 10:00,fine\n",
    )
    file = read_file(path)
    assert file.account.raters == {"human:anna": 2, "human:ben": 2}
    assert file.account.file.unused == ["mean", "date", "duration", "participant_id", "when", "remark"]
    assert any("Columns not used: mean, date" in line for line in file.account.lines())


@pytest.mark.parametrize("name", ["Session", "Session ID", "Transcript", "Conversation", "Vignette", "Case"])
def test_the_item_by_its_other_names(name: str, tmp_path: Path) -> None:
    file = read_file(written(tmp_path, f"{name},rater,score\na,anna,4\nb,anna,3\n"))
    assert file.ratings["transcript_id"].to_list() == ["a", "b"]
    assert file.ratings["case_id"].null_count() == 2
    assert file.account.file.columns["item"] == name


def test_a_case_is_no_item_where_there_is_another(tmp_path: Path) -> None:
    for name in ("Session", "item", "Vignette"):
        file = read_file(written(tmp_path, f"Case,{name},rater,score\nc,a,anna,4\nc,b,anna,3\n"))
        assert file.ratings.select("transcript_id", "case_id").rows() == [("a", "c"), ("b", "c")]
    # Of each system there is a conversation on the case: none of the columns names it.
    check_refusal(written(tmp_path, "case,system,rater,score\nc,A,anna,4\nc,B,anna,3\n"), "no column holds the item")
    # What stands beside the item is no metric.
    file = read_file(written(tmp_path, "item,session,rater,warmth\na,1,anna,4\nb,2,anna,3\n"))
    assert (list(file.account.metrics), file.account.file.unused) == (["warmth"], ["session"])


def test_what_may_be_the_item_or_not_is_asked_about(tmp_path: Path) -> None:
    path = written(tmp_path, "id,session,rater,score\n1,a,anna,4\n2,b,anna,3\n")
    with pytest.raises(AmbiguousError, match=r"`columns=item=session` or `columns=item=id`"):
        read_file(path)
    assert read_file(path, columns={"item": "session"}).ratings["transcript_id"].to_list() == ["a", "b"]
    path = written(tmp_path, "case,session,rater,score\nc,1,anna,4\nd,1,ben,3\n")
    check_question(path, where=f"{path}:3")
    assert read_file(path, columns={"item": "session"}).ratings["transcript_id"].to_list() == ["1", "1"]


# -- numbers ---------------------------------------------------------------------------------------------


def test_decimal_commas_are_numbers_and_it_is_said(tmp_path: Path) -> None:
    commas = "item;rater;metric;value\na;anna;x;3,5\na;ben;x;4,0\nb;anna;x;1\nb;ben;x;1,5\nc;anna;x;5\nc;ben;x;4,5\n"
    file = read_file(written(tmp_path, commas))
    assert values(file) == [3.5, 4.0, 1.0, 1.5, 5.0, 4.5]
    assert "a comma before their decimals: 3,5 is 3.5" in remarks(file)
    points = commas.replace(",", ".")
    assert values(read_file(written(tmp_path, points, "p.csv"))) == values(file)
    (alone,) = bedside.agree(tmp_path / "ratings.csv").results
    assert alone.level == "interval"


@pytest.mark.parametrize(
    ("one", "two", "words"),
    [("3,5", "4.0", "'3,5' has a comma and '4.0' a point"), ("1,250", "2,500", "'1,250' may be 1.250 or 1250")],
)
def test_commas_that_may_be_either_are_asked_about(one: str, two: str, words: str, tmp_path: Path) -> None:
    path = written(tmp_path, f"item;rater;value\na;anna;{one}\nb;anna;{two}\n")
    with pytest.raises(AmbiguousError, match=words):
        read_file(path)


def test_each_column_may_have_its_own_decimals(tmp_path: Path) -> None:
    path = written(tmp_path, "item;metric;anna;ben\na;x;3,5;4.5\nb;x;2,5;1.5\n")
    assert values(read_file(path)) == [3.5, 4.5, 2.5, 1.5]


@pytest.mark.parametrize(
    ("answers", "code"),
    [("1 2 5 99", "99"), ("1 2 3 4 5 -9", "-9"), ("0 1 2 3 -1", "-1"), ("1 2 3 4 5 9", "9"), ("2,5 4,0 999", "999")],
)
def test_a_number_that_may_stand_for_no_answer_is_asked_about(answers: str, code: str, tmp_path: Path) -> None:
    numbers = answers.split()
    path = of_cells(tmp_path, numbers, ";")
    check_question(path, f"`missing={code}`", "`missing=rating=`", where=f"{path}:{numbers.index(code) + 2}")
    expected = [float(number.replace(",", ".")) for number in numbers]
    file = read_file(path, missing=parse_missing([code]))
    assert values(file) == expected[:-1]
    assert file.account.empty == {code: 1}
    assert values(read_file(path, missing=parse_missing(["rating="]))) == expected
    levels = Scale(tuple(sorted(expected)), True)
    assert values(read_file(path, scales={"rating": levels})) == expected


@pytest.mark.parametrize("typed", ["44", "22", "33", "45", "50", "55", "100", "-34"])
@pytest.mark.parametrize("others", ["1 2 3 4 5 4 3 2", "1 2 4 5 4 5 2 1", "0 1 2 3 0 1 2 3", "1 1.5 2 3 2.5 2 3 2"])
def test_a_number_far_from_all_levels_is_asked_about(others: str, typed: str, tmp_path: Path) -> None:
    path = of_cells(tmp_path, [*others.split(), typed])
    with pytest.raises(AmbiguousError, match=rf"{typed} of rating .*mend it, or `missing={typed}`.*`scales=rating="):
        read_file(path)
    assert values(read_file(path, missing=parse_missing(["rating="])))[-1] == float(typed)
    assert len(values(read_file(path, missing=parse_missing([typed])))) == 8


@pytest.mark.parametrize(
    "answers",
    [
        "50 77 99",
        "2 5 9",
        "-1 0 1",
        "1 2 3 4 5 6 7 9",
        "-3 -1 2",
        "0.5 -9 2.5",
        # Sparse ends of longer scales.
        "0 10 20 30 20 10 0 10 100",
        "0 5 3 12 7 20 11 2 100",
        "1 2 3 2 1 3 2 1 10",
        "1 2 3 4 5 4 3 2 7",
        "1 2 3 4 5 44 44 44 44",
        "1 2 3 44",
        "0 0 0 0 1 0 0 1 50",
        "1 2 3 8 9 10 4 7 15",
    ],
)
def test_numbers_among_their_like_are_ratings(answers: str, tmp_path: Path) -> None:
    file = read_file(of_cells(tmp_path, answers.split()))
    assert values(file) == [float(number) for number in answers.split()]


def test_what_stands_for_no_answer_is_declared_of_all_or_of_one_metric(tmp_path: Path) -> None:
    path = written(tmp_path, "item,rater,warmth,pace\na,anna,4,99\nb,anna,99,50\nc,anna,refused,99.0\nd,anna,3,80\n")
    with pytest.raises(InputError, match=r"'refused', while others are numbers.*`missing=refused`"):
        read_file(path, missing=parse_missing(["99"]))
    file = read_file(path, missing=parse_missing(["Warmth=99", "Refused"]))
    assert file.ratings.filter(metric="pace")["value"].to_list() == [99, 50, 99, 80]
    assert file.ratings.filter(metric="warmth")["value"].to_list() == [4, 3]
    assert file.account.empty == {"99": 1, "refused": 1}
    everywhere = read_file(path, missing=parse_missing(["99", "refused"]))
    assert everywhere.ratings.filter(metric="pace")["value"].to_list() == [50, 80]
    check_refusal(path, "no metric 'Mood'", missing=parse_missing(["Mood=99"]))


def test_a_code_off_the_scale_may_be_a_mistake_or_no_answer(tmp_path: Path) -> None:
    path = written(tmp_path, "item,rater,value\na,anna,4\nb,anna,99\n")
    check_question(path, "`missing=99`", scales=parse_scales(["1-5"]))
    assert values(read_file(path, scales=parse_scales(["1-5"]), missing=parse_missing(["99"]))) == [4]


def test_the_ends_of_a_scale_behind_a_name_are_its_scale(tmp_path: Path) -> None:
    rows = "a,anna,4,10\nb,anna,5,0\n"
    path = written(tmp_path, "item,rater,Empathy (1-5),Warmth [0–10]\n" + rows)
    file = read_file(path, known=known_names())
    assert {name: (scale.levels[0], scale.levels[-1]) for name, scale in file.scales.items()} == {
        "empathy": (1, 5), "Warmth": (0, 10),
    }  # fmt: skip
    typed = read_file(path, scales=parse_scales(["warmth=0-20", "1-5"]))
    assert (typed.scales["Warmth"].levels[-1], typed.scales["Empathy"].levels[-1]) == (20, 5)
    check_refusal(
        written(tmp_path, "item,rater,Empathy (1-4),Pace\n" + rows, "four.csv"), "'5' is not on the scale of Empathy"
    )
    exact = read_file(path, exact=True)
    assert list(exact.scales) == ["Empathy (1-5)", "Warmth [0–10]"]
    # Two scales are two metrics.
    both = read_file(written(tmp_path, "item,rater,Warmth (1-5),Warmth (0-10)\n" + rows))
    assert list(both.scales) == ["Warmth (1-5)", "Warmth (0-10)"]
    # A name with a scale is a metric's, and nobody's.
    alone = written(tmp_path, "item,Warmth (1-5),Pace (1-5)\na,4,3\n")
    assert list(read_file(alone).account.metrics) == ["Warmth", "Pace"]


def test_a_scale_of_a_metric_that_the_file_hasnt_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, "item,rater,Mood\na,anna,4\nb,anna,3\n")
    with pytest.raises(InputError, match=r"the file has no metric 'Mod'.*Mood") as error:
        read_file(path, scales=parse_scales(["Mod=0-6"]))
    assert error.value.where == "`scales`"
    file = read_file(path, scales=parse_scales(["warmth=0-6"]), rename={"mood": "warmth"})
    assert list(file.scales) == ["warmth"]


def test_a_renaming_onto_a_name_that_is_there(tmp_path: Path) -> None:
    path = written(tmp_path, "item,rater,Warmth,empathy\na,anna,4,6\nb,anna,5,7\n")
    with pytest.raises(InputError, match="'Warmth' can't be renamed to 'empathy'") as error:
        read_file(path, rename={"Warmth": "empathy"})
    assert error.value.where == f"{path}:2 column Warmth and {path}:2 column empathy"
    path = written(tmp_path, "item,rater,score\na,anna,4\na,AK,5\n")
    check_refusal(path, "'AK' can't be renamed to 'human:anna'", rename={"AK": "anna"})


# -- words -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cells", ["4 - agree,2 - disagree", "4: Agree,2", "Agree (4),Disagree (2)", "4) agree,2) no"])
def test_numbers_with_labels_are_numbers(cells: str, tmp_path: Path) -> None:
    one, two = cells.split(",")
    path = written(tmp_path, f"item,rater,value\na,anna,{one}\nb,anna,{two}\n")
    for scales in ({}, parse_scales(["1-5"])):
        file = read_file(path, scales=scales)
        assert values(file) == [4.0, 2.0]
        assert "the numbers are taken" in remarks(file)


def test_one_number_with_two_labels_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, "item,rater,value\na,anna,4 - agree\nb,anna,4 - disagree\n")
    with pytest.raises(InputError, match=r"another label than '4 - agree'.*|.*ratings\.csv:2 and .*ratings\.csv:3"):
        read_file(path)


def test_amounts_of_time_are_no_numbered_labels(tmp_path: Path) -> None:
    path = written(tmp_path, "item,rater,value\na,anna,1-2 times\nb,anna,3-4 times\n")
    assert values(read_file(path)) == ["1-2 times", "3-4 times"]


FIVES = {
    "agreement": "strongly disagree<disagree<neutral<agree<strongly agree",
    "frequency": "never<rarely<sometimes<often<always",
    "quality": "very poor<poor<fair<good<very good",
    "satisfaction": "very dissatisfied<dissatisfied<neutral<satisfied<very satisfied",
    "intensity": "not at all<slightly<moderately<very<extremely",
    "German": "stimme überhaupt nicht zu<stimme eher nicht zu<teils teils<stimme eher zu<stimme voll und ganz zu",
    "German frequency": "nie<selten<manchmal<oft<immer",
    "Spanish": "totalmente en desacuerdo<en desacuerdo<neutral<de acuerdo<totalmente de acuerdo",
    "French": "jamais<rarement<parfois<souvent<toujours",
    "Italian": "molto insoddisfatto<insoddisfatto<neutrale<soddisfatto<molto soddisfatto",
    "Portuguese": "discordo totalmente<discordo<nem concordo nem discordo<concordo<concordo totalmente",
    "Chinese": "非常不同意<不同意<一般<同意<非常同意",
    "Chinese quality": "很差<差<一般<好<很好",
    "Japanese": "非常に不満<不満<どちらともいえない<満足<非常に満足",
    "Korean": "전혀 그렇지 않다<그렇지 않다<보통이다<그렇다<매우 그렇다",
    "Arabic": "أبدا<نادرا<أحيانا<غالبا<دائما",
}


@pytest.mark.parametrize("levels", FIVES.values(), ids=FIVES)
def test_words_of_a_set_are_levels_in_its_order(levels: str, tmp_path: Path) -> None:
    words = levels.split("<")
    file = read_file(of_cells(tmp_path, [words[at].upper() for at in (3, 0, 4, 1, 2, 3)]))
    assert file.scales["rating"] == Scale(tuple(words), True)
    assert values(file) == [words[at] for at in (3, 0, 4, 1, 2, 3)]
    assert levels in remarks(file)


def test_the_set_is_whole_where_it_is_decided_and_asked_about_where_not(tmp_path: Path) -> None:
    # The middle decides: no set of four has it.
    file = read_file(of_cells(tmp_path, ["Sehr zufrieden", "zufrieden", "teils/teils"]))
    levels = ("sehr unzufrieden", "unzufrieden", "teils teils", "zufrieden", "sehr zufrieden")
    assert file.scales["rating"].levels == levels
    assert "nobody used sehr unzufrieden, unzufrieden" in remarks(file)
    for words in (
        ["agree", "strongly agree", "disagree", "strongly disagree"],
        ["never", "often", "rarely"],
        ["agree", "neutral", "disagree"],
    ):
        with pytest.raises(AmbiguousError) as error:
            read_file(of_cells(tmp_path, words))
        assert str(error.value).count("`scales=rating=") == 2
        assert error.value.where == f"{tmp_path / 'ratings.csv'}:2"
    typed = parse_scales(["rating=never/rarely/sometimes/often"])
    assert read_file(of_cells(tmp_path, ["Often", "never"]), scales=typed).scales["rating"] == Scale(
        ("never", "rarely", "sometimes", "often"), True
    )


def test_a_metric_has_the_set_that_another_of_the_file_decides(tmp_path: Path) -> None:
    five = FIVES["agreement"].split("<")
    rows = "".join(f"{at},anna,{word},{('Agree', 'Strongly agree')[at % 2]}\n" for at, word in enumerate(five))
    file = read_file(written(tmp_path, "item,rater,warmth,pace\n" + rows))
    assert file.scales["warmth"] == file.scales["pace"] == Scale(tuple(five), True)
    assert "as of another metric of the file" in remarks(file)


@pytest.mark.parametrize(
    ("words", "strange"),
    [
        (["agree", "disagree", "agre"], "agre"),
        (["agree", "strongly agree", "often"], "often"),
        (["good", "oft"], "oft"),
        (["nie", "selten", "weiß ich nicht mehr"], "weiß ich nicht mehr"),
    ],
)
def test_a_strange_word_among_those_of_a_set_is_asked_about(words: list[str], strange: str, tmp_path: Path) -> None:
    with pytest.raises(AmbiguousError) as error:
        read_file(of_cells(tmp_path, words))
    assert repr(strange) in error.value.what
    assert error.value.where == f"{tmp_path / 'ratings.csv'}:{words.index(strange) + 2}"
    file = read_file(of_cells(tmp_path, words), scales={"rating": Scale(tuple(words), False)})
    assert values(file) == words


@pytest.mark.parametrize("words", [["change", "neutral", "sustain"], ["open", "closed", "none"], ["yes", "no"]])
def test_labels_that_only_share_a_word_with_a_set_stay_labels(words: list[str], tmp_path: Path) -> None:
    file = read_file(of_cells(tmp_path, words))
    assert (values(file), dict(file.scales), remarks(file)) == (words, {}, "")


def test_opposites_are_two_labels_and_the_longer_scale_is_named(tmp_path: Path) -> None:
    file = read_file(of_cells(tmp_path, ["low", "high"]))
    assert (values(file), dict(file.scales)) == (["low", "high"], {})
    assert "`scales=rating=very low/low/medium/high/very high`" in remarks(file)


def test_words_are_kept_as_written_where_names_are_exact(tmp_path: Path) -> None:
    words = ["Never", "Rarely", "Sometimes", "Often", "Always"]
    file = read_file(of_cells(tmp_path, words), exact=True)
    assert file.scales["rating"] == Scale(tuple(words), True)
    assert values(file) == words


@pytest.mark.parametrize(
    ("typed", "levels", "is_ordered"),
    [
        ("never/rarely/often", ("never", "rarely", "often"), True),
        ("severe/moderate/mild", ("mild", "moderate", "severe"), True),
        ("often/never/rarely", ("often", "never", "rarely"), False),
        ("none/open/closed", ("none", "open", "closed"), False),
        ("no/yes", ("no", "yes"), False),
    ],
)
def test_scales_of_cells(typed: str, levels: tuple[str, ...], is_ordered: bool) -> None:
    assert parse_scale(typed) == Scale(levels, is_ordered)


def test_ordered_words_are_weighted(tmp_path: Path) -> None:
    """Labels with an order give the weighted kappa of their places, which scikit-learn computes of numbers."""
    from sklearn.metrics import cohen_kappa_score

    words = ["never", "rarely", "often"]
    anna, ben = [0, 1, 2, 2, 0, 1, 2, 0, 1, 1], [0, 2, 2, 1, 0, 1, 1, 1, 0, 1]
    rows = "".join(
        f"{item},{who},{words[place]}\n"
        for who, places in (("anna", anna), ("ben", ben))
        for item, place in enumerate(places)
    )
    path = written(tmp_path, "item,rater,value\n" + rows)
    for weights in ("linear", "quadratic"):
        (answer,) = bedside.agree(path, scales="never/rarely/often", weights=weights).results
        assert answer.level == "ordinal"
        assert answer.statistics["kappa"].estimate == pytest.approx(cohen_kappa_score(anna, ben, weights=weights))
    with pytest.raises(bedside.BedsideError, match=r"have no order.*low<middle<high"):
        bedside.agree(path, scales="often/never/rarely", weights="linear")


def test_answers_in_words_that_are_none_are_counted_by_word(tmp_path: Path) -> None:
    words = ["NA", "n.a.", "-", "missing", "don't know", "Skip", "not applicable", "", "NA"]
    file = read_file(of_cells(tmp_path, [*words, 4]))
    assert file.account.empty == {
        "NA": 2, "n.a.": 1, "-": 1, "missing": 1, "don't know": 1, "Skip": 1, "not applicable": 1, "": 1,
    }  # fmt: skip
    assert file.empty == 9
    # A word that is on the scale is a rating.
    path = written(tmp_path, "item,rater,value\na,anna,skip\nb,anna,go\n")
    assert values(read_file(path, scales=parse_scales(["go/skip"]))) == ["skip", "go"]


# -- worksheets ------------------------------------------------------------------------------------------


def workbook(path: Path, sheets: dict[str, list[list[object]]]) -> Path:
    book = openpyxl.Workbook()
    book.remove(book.worksheets[0])
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


def test_worksheets_of_the_same_items_are_systems_and_it_is_said(tmp_path: Path) -> None:
    rows: list[list[object]] = [["item", "metric", "anna", "ben"], ["a", "x", 4, 3], ["b", "x", 2, 1]]
    path = workbook(tmp_path / "r.xlsx", {"GPT-4": rows, "Llama": rows})
    check_question(path, "`sheet=all`")
    file = read_file(path, sheet="all")
    assert file.account.systems == {"GPT-4": 2, "Llama": 2}
    assert sorted(file.ratings["transcript_id"].unique()) == ["GPT-4/a", "GPT-4/b", "Llama/a", "Llama/b"]
    assert sorted(file.ratings["case_id"].unique()) == ["a", "b"]
    assert "each is taken for a system" in remarks(file)
    assert all(" sheet " in place for place in file.places)
    rounds = read_file(path, sheet="all", columns={"round": "sheet"})
    assert sorted(rounds.ratings["round"].unique()) == ["GPT-4", "Llama"]
    one = read_file(path, sheet="Llama")
    assert (one.account.file.sheets, one.account.file.other_sheets) == (["Llama"], ["GPT-4"])


@pytest.mark.parametrize("names", [("rater 1", "rater 2"), ("pre", "post"), ("round 1", "round 2")])
def test_worksheets_that_may_be_raters_or_rounds_are_asked_about(names: tuple[str, str], tmp_path: Path) -> None:
    rows: list[list[object]] = [["item", "metric", "anna", "ben"], ["a", "x", 4, 3]]
    path = workbook(tmp_path / "r.xlsx", dict.fromkeys(names, rows))
    check_question(path, "`columns=system=sheet`", sheet="all")
    systems = read_file(path, sheet="all", columns={"system": "sheet"})
    assert systems.account.systems == dict.fromkeys(names, 1)


@pytest.mark.slow
@published
def test_all_worksheets_of_the_experts_are_read(call: Call) -> None:
    """κ of 60 items, computed by scikit-learn of the cells themselves, and not that of the first sheet's 15."""
    from sklearn.metrics import cohen_kappa_score

    path = CRAFT / "experts_four_sheets.xlsx"
    both: list[tuple[object, object]] = []
    for sheet in openpyxl.load_workbook(path).worksheets:
        header, *rows = sheet.iter_rows(values_only=True)
        cells = [dict(zip(header, row, strict=True)) for row in rows]
        both += [(c["d1"], c["d2"]) for c in cells if c["metric"] == "Q1" and c["d1"] and c["d2"]]
    assert len(both) == 60
    kappa = cohen_kappa_score([one for one, _ in both], [two for _, two in both])
    code, _, err = call("agree", path)
    assert code == 2
    assert "--sheet all" in err
    assert "GPT-3.5" in err
    out, err = works(call, "agree", path, "--sheet", "all", "--json")
    json.loads(out)
    assert "Sheets: GPT-4, GPT-3.5, LLaMA2, Mistral-v2" in err
    (answer,) = (a for a in bedside.agree(bedside.read_ratings(path, sheet="all")).results if a.metric == "Q1")
    assert (answer.units, answer.cases) == (60, 15)
    assert answer.statistics["kappa"].estimate == pytest.approx(kappa)
    assert round(kappa, 2) == 0.62
    (wide,) = (a for a in bedside.agree(CRAFT / "experts_yes_no.csv").results if a.metric == "Q1")
    assert wide.statistics["kappa"].estimate == pytest.approx(kappa)


@pytest.mark.slow
@published
def test_a_workbook_as_it_was_published_is_read_below_its_instructions() -> None:
    path = CRAFT / "expert1_as_published.xlsx"
    book = openpyxl.load_workbook(path)
    columns = {"item": "case_id", "system": "sheet"}
    file = read_file(path, sheet="all", header_row=6, form="by_metric", columns=columns)
    expected = 0
    for sheet in book.worksheets:
        for row in sheet.iter_rows(min_row=7, values_only=True):
            expected += sum(str(cell).strip() in ("Yes", "No") for cell in row[6:9] if row[0])
    of_questions = sum(count for name, (_, count) in file.account.metrics.items() if name.strip() in ("Q1", "Q2", "Q3"))
    assert of_questions == expected


# -- what is said ----------------------------------------------------------------------------------------


def test_questions_say_what_was_read_on_standard_error_and_json_stays_pure(call: Call, tmp_path: Path) -> None:
    text = "item,rater,system,case,value\n" + "".join(
        f"{system}-{case},{who},{system},{case},{(case * 7 + len(who) + ord(system)) % 5 + 1}\n"
        for system in "AB" for case in range(8) for who in ("anna", "ben")
    )  # fmt: skip
    path = written(tmp_path, text)
    for command in (["agree"], ["compare"], ["explain", "--table", "agreement", "--cell", "rating"]):
        out, err = works(call, command[0], path, *command[1:], "--scale", "1-5", "--json")
        json.loads(out)
        assert f"{path}: 32 ratings of 16 items; systems: A (8), B (8)" in err
        assert "Raters: human:anna (16), human:ben (16)" in err


def test_what_was_read_is_kept_in_the_manifest(call: Call, tmp_path: Path) -> None:
    run = bedside.score([bedside.EXAMPLES / "transcripts.jsonl"], tmp_path / "run", metrics=["turns"]).run
    _, err = works(call, "ratings", "import", run.path, bedside.EXAMPLES / "ratings-wide.csv", "--scale", "1-5")
    assert "ratings-wide.csv: 71 ratings of 12 items" in err
    (entry,) = bedside.read_run(run.path).manifest["imports"]
    assert entry["account"]["form"] == "a table with a column for each rater"
    assert entry["account"]["columns"] == {"item": "item", "metric": "metric"}
    assert entry["account"]["raters"] == 2


def test_options_are_named_where_a_file_can_be_read_in_two_ways(call: Call, tmp_path: Path) -> None:
    path = written(tmp_path, "item,system,warmth,alliance\na,A,4,5\nb,B,2,3\n")
    code, out, err = call("agree", path)
    assert (code, out) == (2, "")
    assert "--form by_rater" in err
    assert "--form by_metric" in err
    assert len(err.strip().splitlines()) == 1


def test_an_account_of_many_columns_is_one_screen(tmp_path: Path) -> None:
    names = [f"question {number} of the survey" for number in range(60)]
    rows = "".join(f"t{item},rater-{item}," + ",".join("3" for _ in names) + "\n" for item in range(40))
    file = read_file(written(tmp_path, "item,rater," + ",".join(names) + "\n" + rows))
    assert len(file.account.lines()) <= 24
    assert len(file.account.metrics) == 60
    assert max(map(len, file.account.lines())) < 700


# -- items told by two columns ---------------------------------------------------------------------------

NESTED = "P1,1,anna,1\nP1,2,anna,2\nP2,1,ben,5\nP2,2,ben,4\n"


@pytest.mark.parametrize("owner", ["participant", "Patient", "client_id", "Subject No"])
def test_sessions_that_repeat_for_each_participant_are_items_of_both(owner: str, tmp_path: Path) -> None:
    file = read_file(written(tmp_path, f"{owner},session,rater,kindness\n{NESTED}"))
    assert file.ratings["metric"].unique().to_list() == ["kindness"]
    assert file.ratings["transcript_id"].to_list() == ["P1/1", "P1/2", "P2/1", "P2/2"]
    assert f"An item's id is that of {owner}+session, as session repeats; `columns=item=session`" in remarks(file)
    alone = read_file(tmp_path / "ratings.csv", columns={"item": "session"})
    assert alone.ratings["transcript_id"].n_unique() == 2


def test_a_participant_in_a_table_of_raters_is_no_rater(tmp_path: Path) -> None:
    text = "participant,session,rater 1,rater 2\nP1,1,1,1\nP2,1,5,4\n"
    file = read_file(written(tmp_path, text))
    assert file.ratings["rater"].unique().sort().to_list() == ["human:rater 1", "human:rater 2"]
    assert file.ratings["transcript_id"].unique().sort().to_list() == ["P1/1", "P2/1"]


def test_a_site_of_items_or_of_raters_is_asked_about_unless_one_rates_at_both(tmp_path: Path) -> None:
    path = written(tmp_path, f"site,item,rater,kindness\n{NESTED}")
    with pytest.raises(AmbiguousError, match=r"it may be one item or two; say `columns=item=site\+item` for two"):
        read_file(path)
    both = read_file(path, columns={"item": "site+item"})
    assert both.ratings["transcript_id"].to_list() == ["P1/1", "P1/2", "P2/1", "P2/2"]
    path = written(tmp_path, "site,item,rater,kindness\n" + NESTED.replace("ben", "anna"))
    assert read_file(path).ratings["transcript_id"].n_unique() == 4


def test_participants_who_may_have_rated_and_numbers_that_may_be_ratings_are_asked_about(tmp_path: Path) -> None:
    path = written(tmp_path, "participant,vignette,kindness\nP1,v1,1\nP2,v1,4\n")
    check_question(path, "or `columns=rater=participant` where each rated")
    path = written(tmp_path, "client,session,rater,kindness\n3,s1,anna,2\n4,s1,ben,2\n")
    check_question(path, "it may be one item or two")
    # An id of each row, as of an answered form, tells no items apart.
    path = written(tmp_path, "record_id,item,rater,kindness\n1,s1,anna,2\n2,s1,ben,2\n")
    assert read_file(path).ratings["transcript_id"].n_unique() == 1


APART = "P1,1,anna,4\nP1,2,anna,3\nP1,3,anna,2\nP2,1,ben,4\nP2,2,ben,2\nP2,3,ben,5\n"


@pytest.mark.parametrize("owner", ["family", "therapist", "pid", "Familie", "study_id"])
@pytest.mark.parametrize("values", ["P1,P2", "Smith,Jones"])
def test_a_column_that_each_rater_has_one_of_is_no_metric_and_is_asked_about(
    owner: str, values: str, tmp_path: Path
) -> None:
    one, two = values.split(",")
    rows = APART.replace("P1", one).replace("P2", two)
    path = written(tmp_path, f"{owner},session,rater,kindness\n{rows}")
    with pytest.raises(AmbiguousError, match=rf"`columns=item={owner}\+session` for two"):
        read_file(path)
    both = read_file(path, columns={"item": f"{owner}+session"})
    assert (both.account.items, list(both.account.metrics)) == (6, ["kindness"])
    one_item = read_file(path, columns={"item": "session"})
    assert (one_item.account.items, list(one_item.account.metrics)) == (3, ["kindness"])


def test_numbers_of_people_are_asked_about_and_answers_are_not(tmp_path: Path) -> None:
    rows = APART + "P3,1,cleo,4\nP3,2,cleo,2\nP3,3,cleo,5\n"
    path = written(tmp_path, "family,session,rater,kindness\n" + rows.replace("P", "1"))
    check_question(path, "of family '11' and '12'")


@pytest.mark.parametrize(
    ("column", "cells"),
    [
        ("rater_id", "1,1,1,2,2,2"),
        ("expert_group", "A,A,A,B,B,B"),
        ("date", "d1,d1,d1,d2,d2,d2"),
        ("safe", "yes,yes,yes,no,no,no"),
        ("pace", "4,4,4,3,3,3"),
        ("stage", "open,open,shut,shut,open,open"),
        ("family", "F1,F2,F3,F1,F2,F3"),
    ],
)
def test_what_says_nothing_of_items_stops_nothing(column: str, cells: str, tmp_path: Path) -> None:
    rows = [f"{cell},{row[3:]}" for cell, row in zip(cells.split(","), APART.splitlines(), strict=True)]
    file = read_file(written(tmp_path, f"{column},item,rater,kindness\n" + "\n".join(rows)))
    assert file.account.items == 3


@pytest.mark.parametrize("column", ["family", "redcap_event_name", "wave_name"])
def test_a_column_that_tells_doubled_rows_apart_is_named(column: str, tmp_path: Path) -> None:
    rows = APART.replace("ben", "anna")
    path = written(tmp_path, f"{column},item,rater,kindness\n{rows}")
    check_refusal(path, f"`columns=item={column}+item` for items")
    again = read_file(path, columns={"round": column})
    assert (again.account.items, again.account.ratings) == (3, 6)


# -- rows under a table ----------------------------------------------------------------------------------


@pytest.mark.parametrize("ids", [("a", "b"), ("t01", "t02"), ("session_1", "session_2"), ("12", "13")])
def test_means_and_kappas_under_a_table_are_no_items_and_it_is_said(ids: tuple[str, str], tmp_path: Path) -> None:
    one, two = ids
    text = f"item,rater 1,rater 2\n{one},1,2\n{two},3,3\n,,\nMean,2,2.5\nSD,1,.7\nKappa,0.71,\n"
    file = read_file(written(tmp_path, text))
    assert file.ratings["transcript_id"].unique().sort().to_list() == list(ids)
    assert file.account.file.left_out == {"rows computed from those above (Kappa, Mean, SD)": 3}
    below = f"item,A,,B,\n,warm,clear,warm,clear\n{one},1,2,3,4\n{two},1,2,3,4\nMean,1,2,3,4\n"
    crossed = read_file(written(tmp_path, below, "crossed.csv"), form="raters_over_metrics")
    assert crossed.account.items == 2


TEN = "5,5 4,4 3,2 2,2 1,1 5,4 4,4 4,5 2,2 3,3".split()


def ten_items(below: str, ids: str = "s{}") -> str:
    """Ten items of two raters, and rows below, parted by semicolons."""
    rows = [f"{ids.format(number)},{cells}" for number, cells in enumerate(TEN)]
    return "session,rater 1,rater 2\n" + "\n".join([*rows, *below.split(";")]) + "\n"


@pytest.mark.parametrize("ids", ["s{}", "{}", "P1-{}"])
@pytest.mark.parametrize(
    "below",
    [
        "Mittelwert,3.3,3.2;Anzahl,10,10",
        "Ø,3.3,3.2;Summe,33,32;Median,3.5,3.5;%,66,64;Std.abw.,1.3,1.2;Varianz,1.7,1.5;Min,1,1",
        "N,10,10",
        "n,10,10;max,5,5;ICC,0.92,",
        "M,3.3,3.2;SD,1.3,1.2",
        "Missing,0,0",
        "Media,3.3,3.2;Desv. est.,1.3,1.2",
        "平均,3.3,3.2;标准差,1.3,1.2",
        # Words that nobody knows, with numbers that say it.
        'Keskiarvo,"3,3","3,2";Mean,3.3,3.2',
        "Lukumäärä,10,10;Sum,33,32",
        "Hajonta,1.34,1.40;SD,1.3,1.2",
    ],
)
def test_rows_below_are_left_out_by_their_names_or_numbers(ids: str, below: str, tmp_path: Path) -> None:
    file = read_file(written(tmp_path, ten_items(below, ids)))
    assert (file.account.items, file.account.ratings) == (10, 20)
    (left,) = file.account.file.left_out.items()
    assert left[1] == below.count(";") + 1
    assert all(row.split(",")[0] in left[0] for row in below.split(";"))


@pytest.mark.parametrize("below", ["pilot,3,4", "Mean,3.3,3.2;pilot,3,4", "Quux,0.4,0.9"])
def test_a_last_row_that_may_be_an_item_or_computed_is_asked_about(below: str, tmp_path: Path) -> None:
    path = written(tmp_path, ten_items(below))
    with pytest.raises(AmbiguousError, match="`columns=item=session` for an item, else remove the row") as error:
        read_file(path)
    assert error.value.where == f"{path}:{12 + below.count(';')}"
    file = read_file(path, columns={"item": "session"})
    assert file.account.items == 11
    assert "is taken for an item" in remarks(file)


@pytest.mark.parametrize(
    ("text", "items"),
    [
        (ten_items("s10,3,3"), 11),
        # A note below holds no rating.
        (ten_items("Rated in March,,"), 10),
        # Neither are items of several forms odd.
        ("item,rater 1,rater 2\na-1,1,2\nb7,2,2\nc_2,3,3\nlast,2,1\n", 4),
        # A first row, or one between others, is no row below.
        ("item,rater 1,rater 2\npilot,1,2\ns1,2,2\ns2,3,3\ns3,2,1\n", 4),
        # Nor one of which somebody is named who rated it.
        ("item,rater,value\ns1,a,1\ns2,a,2\ns3,a,3\npilot,a,1\n", 4),
        # Words, of which one is a statistic's name.
        ("item,rater 1,rater 2\nkind,1,2\nrude,2,2\ncalm,4,3\nmean,2,3\n", 4),
    ],
)
def test_ordinary_last_rows_are_items(text: str, items: int, tmp_path: Path) -> None:
    assert read_file(written(tmp_path, text)).account.items == items


def test_a_mean_below_items_that_are_words_is_known_by_its_numbers(tmp_path: Path) -> None:
    names = "Anna Ben Cleo Dan Eva Finn Gus Hal Ida Jo".split()
    text = ten_items("Mean,3.3,3.2")
    for number, name in enumerate(names):
        text = text.replace(f"s{number},", f"{name},")
    file = read_file(written(tmp_path, text))
    assert file.account.items == 10
    assert file.account.file.left_out == {"rows computed from those above (Mean)": 1}


def test_items_that_are_words_may_be_called_mean(tmp_path: Path) -> None:
    file = read_file(written(tmp_path, "item,rater 1,rater 2\ncalm,1,2\nrude,3,3\nmean,2,2\n"))
    assert file.account.items == 3
    assert not file.account.file.left_out
    file = read_file(written(tmp_path, "item,rater 1,rater 2\nmean,1,2\ntotal,3,3\n"))
    assert file.account.items == 2


def test_ages_and_numbers_of_words_are_no_raters(tmp_path: Path) -> None:
    path = written(
        tmp_path, "item,age,patient_age,n_words,word count,anna,ben,final\na,33,31,120,9,1,2,2\nb,45,32,80,8,3,3,3\n"
    )
    file = read_file(path, form="by_rater")
    assert list(file.account.raters) == ["human:anna", "human:ben"]
    assert file.account.file.unused == ["age", "patient_age", "n_words", "word count", "final"]
    # A number that people counted is a metric all the same.
    counted = written(tmp_path, "item,rater,n_questions\na,anna,3\na,ben,4\n")
    assert list(read_file(counted).account.metrics) == ["n_questions"]


def test_an_archive_is_named_with_the_way_to_unpack_it(tmp_path: Path, call: Call) -> None:
    path = tmp_path / "ratings.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("anna.csv", "item,rater,kindness\na,anna,1\n")
        archive.writestr("ben.csv", "item,rater,kindness\na,ben,1\n")
    check_refusal(path, "ZIP archive of 2 files")
    code, _, error = call("read", path)
    assert (code, "python -m zipfile -e ratings.zip FOLDER" in error) == (2, True)

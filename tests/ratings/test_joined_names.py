"""Spellings of one name are one metric, rater or label: the numbers stay those of a file that was written alike."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from sklearn.metrics import cohen_kappa_score

import bedside
from bedside.analysis.metric_facts import known_names
from bedside.core.errors import DataError, InputError
from bedside.ratings.rating_files import RatingFile
from bedside.ratings.run import Run
from bedside.ratings.scales import parse_scales
from bedside.transcripts.transcript import Transcript, Turn
from tests.ratings.builders import check_refusal, of_cells, read_file, written

#: Ten talks with two turns.
TALKS = [
    Transcript(id=f"t{number}", turns=(Turn(0, "clinician", "A", "Hello."), Turn(1, "patient", "B", "Hi.")))
    for number in range(10)
]
#: What a judge and two people say of the talks.
JUDGE = [1, 2, 3, 4, 5, 5, 4, 3, 2, 1]
ANNA = [1, 2, 3, 4, 5, 4, 4, 3, 2, 2]
BEN = [2, 2, 3, 4, 4, 5, 4, 3, 1, 1]


def wide(columns: dict[str, tuple[list[int], list[int]]], names: tuple[str, str] = ("anna", "ben")) -> str:
    """A column a metric, two rows a talk."""
    rows = [f"item,rater,{','.join(columns)}"]
    for number in range(10):
        for place, name in enumerate(names):
            cells = [str(values[place][number]) for values in columns.values()]
            rows.append(f"t{number},{name},{','.join(cells)}")
    return "\n".join(rows) + "\n"


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """A run that a judge rated on empathy."""
    scored = bedside.score(TALKS, tmp_path / "run", metrics=["structure"]).run
    rows = [f"t{number},judge:m,empathy,{level}" for number, level in enumerate(JUDGE)]
    bedside.import_ratings(scored, written(tmp_path, "\n".join(["item,rater,metric,value", *rows]), "judge.csv"))
    return bedside.read_run(scored.path)


def by_people(run: Run) -> list[tuple[Any, ...]]:
    rows = bedside.read_run(run.path).ratings.filter(pl.col("rater").str.starts_with("human:"))
    return sorted(rows.select("metric", "rater", "transcript_id", "value").iter_rows())


def alike(file: RatingFile) -> list[tuple[Any, ...]]:
    return sorted(file.ratings.select("transcript_id", "unit", "metric", "rater", "value", "label").iter_rows())


def test_a_title_in_a_sheet_meets_the_judge(run: Run, tmp_path: Path) -> None:
    """Before, validate said that no judge had rated `Empathy`."""
    sheet = written(tmp_path, wide({"Empathy": (ANNA, BEN), "Warm th": (BEN, ANNA)}))
    bedside.import_ratings(run, sheet, scales="1-5")
    assert {row[0] for row in by_people(run)} == {"empathy", "Warm th"}
    judge = bedside.validate(run.path, metrics="empathy").results[0].validations[0]
    assert (judge.rated, judge.with_people) == (10, 10)
    kappas = [cohen_kappa_score(JUDGE, people, weights="quadratic", labels=[1, 2, 3, 4, 5]) for people in (ANNA, BEN)]
    assert judge.mean is not None
    assert judge.mean.statistics["kappa"].estimate == pytest.approx(sum(kappas) / 2)
    account = bedside.read_run(run.path).manifest["imports"][-1]["account"]
    assert account["joined"]["metrics"] == {"Empathy": "empathy"}


@pytest.mark.parametrize("name", ["EMPATHY", " empathy ", "Empathy"])
def test_spellings_of_a_metric_are_one_between_files(run: Run, tmp_path: Path, name: str) -> None:
    bedside.import_ratings(run, written(tmp_path, wide({name: (ANNA, BEN)})))
    assert {row[0] for row in by_people(run)} == {"empathy"}


def test_exact_keeps_names_apart_and_rename_decides(run: Run, tmp_path: Path) -> None:
    sheet = written(tmp_path, wide({"Empathy": (ANNA, BEN)}, ("AK", "ben")))
    bedside.import_ratings(run, sheet, exact=True, scales="1-5")
    assert {row[0] for row in by_people(run)} == {"Empathy"}
    other = written(tmp_path, wide({"Warmth": (ANNA, BEN)}, ("AK", "ben")), "other.csv")
    bedside.import_ratings(run, other, rename={"Warmth": "empathy", "AK": "anna"})
    assert {row[:2] for row in by_people(run)} == {
        ("Empathy", "human:AK"), ("Empathy", "human:ben"), ("empathy", "human:anna"), ("empathy", "human:ben"),
    }  # fmt: skip
    with pytest.raises(InputError, match="no metric and no rater of the file is called 'Warmht'"):
        bedside.import_ratings(run, other, rename={"Warmht": "empathy"})


def test_two_metrics_of_one_file_are_never_one(run: Run, tmp_path: Path) -> None:
    sheet = written(tmp_path, wide({"Empathy": (ANNA, BEN), "EMPATHY": (BEN, ANNA)}))
    file = read_file(sheet, known=known_names(run), scales=parse_scales(["1-5"]))
    assert set(file.ratings["metric"]) == {"Empathy", "EMPATHY"}
    assert file.account.names.apart == ["'Empathy' and 'EMPATHY' both stand in the file, and stay two metrics."]
    beside = written(tmp_path, wide({"empathy": (ANNA, BEN), "Empathy": (BEN, ANNA)}), "beside.csv")
    file = read_file(beside, known=known_names(run), scales=parse_scales(["1-5"]))
    assert set(file.ratings["metric"]) == {"Empathy", "empathy"}


def test_ratings_of_turns_and_of_talks_are_two_metrics(run: Run, tmp_path: Path) -> None:
    sheet = written(tmp_path, "item,turn,rater,metric,value\nt0,0,anna,Empathy,3\nt0,1,anna,Empathy,4\n")
    file = read_file(sheet, known=known_names(run))
    assert set(file.ratings["metric"]) == {"Empathy"}
    assert file.account.names.apart == ["'Empathy' rates turns, and 'empathy' transcripts: they stay two metrics."]
    both = "item,turn,rater,metric,value\nt0,0,anna,Warmth,3\nt0,,ben,warmth,4\n"
    assert set(read_file(written(tmp_path, both)).ratings["metric"]) == {"Warmth", "warmth"}


def test_a_rubric_that_nobody_rated_by_is_met_only_on_its_scale(run: Run, tmp_path: Path) -> None:
    on, off = ([[5 - level % 2 for level in ANNA] for _ in "ab"], [[9 - level % 2 for level in ANNA] for _ in "ab"])
    for values, name in ((on, "partnership"), (off, "Partnership")):
        sheet = written(tmp_path, wide({"Partnership": (values[0], values[1])}))
        assert set(read_file(sheet, known=known_names(run)).ratings["metric"]) == {name}


def test_a_declared_alias_is_the_metric(tmp_path: Path) -> None:
    text = "item,turn,rater,Main therapist behavior,other\nt0,0,anna,question,1\nt0,0,ben,reflection,2\n"
    file = read_file(written(tmp_path, text), known=known_names())
    assert set(file.ratings["metric"]) == {"main_behaviour", "other"}


def test_a_rubrics_alias_changes_no_version(tmp_path: Path) -> None:
    from bedside.judges.rubrics.rubric_files import RUBRICS, parse_rubric

    plain = RUBRICS.load("empathy")
    path = written(
        tmp_path, RUBRICS.path("empathy").read_text("utf-8") + "\naliases: [Warm listening]\n", "empathy.yaml"
    )
    assert parse_rubric(path).aliases == ("Warm listening",)
    assert parse_rubric(path).version == plain.version


def test_spellings_of_a_rater_are_one_person(run: Run, tmp_path: Path) -> None:
    """In one file, between two imports, and beside who rated before."""
    rows = [
        f"t{number},{random.Random(number).choice(('ANNA', 'anna', ' Anna ', 'human:Anna'))},{level}"
        for number, level in enumerate(ANNA)
    ]
    rows += [f"t{number},ben,{level}" for number, level in enumerate(BEN)]
    one = written(tmp_path, "\n".join(["item,rater,empathy", *rows]))
    kappa = bedside.agree(one, scales="1-5").results[0].statistics["kappa"]
    assert kappa.estimate == pytest.approx(cohen_kappa_score(ANNA, BEN, weights="quadratic", labels=[1, 2, 3, 4, 5]))
    first = written(tmp_path, wide({"empathy": (ANNA, BEN)}), "first.csv")
    bedside.import_ratings(run, first)
    assert bedside.import_ratings(run, written(tmp_path, wide({"empathy": (ANNA, BEN)}, ("ANNA", "Ben")), "again.csv"))
    assert [row[1] for row in by_people(run)] == ["human:anna"] * 10 + ["human:ben"] * 10
    entry = bedside.read_run(run.path).manifest["imports"][-1]["account"]
    assert entry["joined"]["raters"] == 2
    assert "ANNA" not in str(entry)


def test_two_raters_of_the_same_things_are_two_people(tmp_path: Path) -> None:
    file = read_file(written(tmp_path, wide({"empathy": (ANNA, BEN)}, ("Anna", "anna"))))
    assert set(file.ratings["rater"]) == {"human:Anna", "human:anna"}
    assert file.account.names.apart_raters == ["'Anna' and 'anna' rate the same things, and stay two raters."]


def test_case_and_blanks_of_labels_change_no_number(tmp_path: Path) -> None:
    """Before, κ of these was .00."""
    rng = random.Random(3)
    truth = [rng.choice(("Yes", "No", "Not sure")) for _ in range(60)]
    other = [label if rng.random() < 0.95 else rng.choice(("Yes", "No")) for label in truth]

    def text(spell: Any) -> str:
        rows = [f"i{n},{who},{spell(label)}" for n, pair in enumerate(zip(truth, other, strict=True))
                for who, label in zip(("anna", "ben"), pair, strict=True)]  # fmt: skip
        return "\n".join(["item,rater,danger", *rows])

    def shouted(label: str) -> str:
        return rng.choice((label, label.upper(), label.lower(), f"{label} ", label.replace(" ", "_")))

    expected = cohen_kappa_score(truth, other)
    assert expected > 0.9
    for spell in (str, shouted):
        path = written(tmp_path, text(spell))
        for scales in ((), "Yes/No/Not sure"):
            kappa = bedside.agree(path, scales=scales).results[0].statistics["kappa"]
            assert kappa.estimate == pytest.approx(expected)
    ratings = bedside.read_ratings(written(tmp_path, text(shouted)), exact=True).ratings
    assert ratings["label"].n_unique() > 3


@pytest.mark.parametrize(
    ("answers", "read", "sentence"),
    [
        (["Yes", "No", "yes", "Y", "N", "no"], ["Yes", "No", "Yes", "Yes", "No", "No"], "'yes' and 'Y' are 'Yes'"),
        (["Ja", "Nein", "j", "Ja"], ["Ja", "Nein", "Ja", "Ja"], "'j' is 'Ja'"),
        (["sí", "no", "s", "n"], ["sí", "no", "sí", "no"], "'s' is 'sí'"),
        (["True", "F", "T", "False"], ["True", "False", "True", "False"], "'T' is 'True'"),
        # Not plain: a letter of its own, or with a third label.
        (["Yes", "No", "N", "Yes"], ["Yes", "No", "N", "Yes"], ""),
        (["Yes", "Y", "Unclear", "Yes"], ["Yes", "Y", "Unclear", "Yes"], ""),
        (["Y", "N", "Y", "N"], ["Y", "N", "Y", "N"], ""),
        (
            ["open question; reflection", "advice", "Reflection;open question", "advice"],
            ["Reflection;open question", "advice", "Reflection;open question", "advice"],
            "'open question; reflection' is 'Reflection;open question'",
        ),
        (["a, b", "b", "a", "b,a"], ["a, b", "b", "a", "a, b"], "'b,a' is 'a, b'"),
    ],
)
def test_letters_for_yes_and_no_and_the_order_of_labels_change_no_number(
    answers: list[str], read: list[str], sentence: str, tmp_path: Path
) -> None:
    path = of_cells(tmp_path, answers)
    file = read_file(path)
    assert file.ratings["label"].to_list() == read
    assert sentence in "\n".join(file.account.lines())
    exact = read_file(path, exact=True)
    assert exact.ratings["label"].to_list() == answers


def test_labels_are_spelt_as_in_the_run(run: Run, tmp_path: Path) -> None:
    for number, labels in enumerate((("open", "closed"), ("OPEN", "Closed"))):
        text = f"item,rater,metric,value\nt0,r{number},style,{labels[0]}\nt1,r{number},style,{labels[1]}\n"
        bedside.import_ratings(run, written(tmp_path, text))
    ratings = bedside.read_run(run.path).ratings.filter(pl.col("metric") == "style")
    assert sorted(ratings["label"]) == ["closed", "closed", "open", "open"]


def test_letters_whose_case_one_rater_means_stay_apart(tmp_path: Path) -> None:
    """As in codes where R is a complex reflection and r a simple one."""
    rows = [f"i{number},anna,{'R' if number % 2 else 'r'}" for number in range(6)]
    rows += [f"i{number},ben,{'Q' if number % 2 else 'r'}" for number in range(6)]
    path = written(tmp_path, "\n".join(["item,rater,act", *rows]))
    file = read_file(path)
    assert set(file.ratings["label"]) == {"R", "r", "Q"}
    assert file.account.file.remarks == [
        "'R' and 'r' of act stay two labels: one rater uses both often. `scales=act=R/…` makes them one."
    ]
    few = written(tmp_path, "\n".join(["item,rater,act", *rows[:2], *rows[6:]]))
    assert set(read_file(few).ratings["label"]) == {"r", "Q"}


def test_row_order_and_split_files_change_no_name(run: Run, tmp_path: Path) -> None:
    lines = [f"t{n},{who},{metric},{n % 5 + 1}" for n in range(8)
             for who, metric in (("ANNA", "Warmth"), ("Ben", "warmth"), ("CY", "WARMTH"))]  # fmt: skip
    header = "item,rater,metric,value"
    whole = alike(read_file(written(tmp_path, "\n".join([header, *lines]))))
    random.Random(1).shuffle(lines)
    assert alike(read_file(written(tmp_path, "\n".join([header, *lines])))) == whole
    for part in (lines[:9], lines[9:]):
        bedside.import_ratings(run, written(tmp_path, "\n".join([header, *part])))
    assert len({row[0] for row in by_people(run)}) == 1
    assert len({row[1] for row in by_people(run)}) == 3


TEXTS = [f"The clinician stays close, {word}, and waits" for word in "abcdefghijklmnopqrstuvwxyz"]


def justified(metrics: str = "Empathy") -> str:
    names = metrics.split(",")
    rows = [f"item,rater,{metrics},Justification"]
    rows += [f'i{n // 2},{"ab"[n % 2]},{",".join(str(n % 7) for _ in names)},"{TEXTS[n]}"' for n in range(26)]
    return "\n".join(rows)


def test_justifications_are_comments_and_no_labels(tmp_path: Path) -> None:
    """Before, 26 justifications were 26 labels in a long table, and a scale stopped at them."""
    long = ["item,rater,metric,value"]
    for n in range(26):
        long += [f"i{n // 2},{'ab'[n % 2]},Empathy,{n % 7}", f'i{n // 2},{"ab"[n % 2]},Justification,"{TEXTS[n]}"']
    for text in (justified(), "\n".join(long)):
        file = read_file(written(tmp_path, text), scales=parse_scales(["0-6"]))
        assert set(file.ratings["metric"]) == {"Empathy"}
        assert sorted(file.ratings["reason"]) == TEXTS
        assert file.ratings["label"].null_count() == 26
        assert file.account.comments.taken == {"Justification": 26}
        assert file.account.to_json()["comments"] == {"Justification": 26}


def test_a_comment_is_of_the_rating_that_it_names(tmp_path: Path) -> None:
    text = (
        "item,rater,empathy,alliance,empathy_comment,Why alliance?,General remarks\n"
        "a,anna,4,5,good,ok,Both were tired that day\nb,anna,3,2,bad,,\nc,anna,,1,lost,,\n"
    )
    file = read_file(written(tmp_path, text))
    reasons = {(item, metric): reason for item, metric, reason in
               file.ratings.select("transcript_id", "metric", "reason").iter_rows()}  # fmt: skip
    assert reasons == {
        ("a", "empathy"): "good; General remarks: Both were tired that day",
        ("a", "alliance"): "ok; General remarks: Both were tired that day",
        ("b", "empathy"): "bad", ("b", "alliance"): None, ("c", "alliance"): None,
    }  # fmt: skip
    assert file.account.comments.alone == 1


def test_what_a_talk_says_is_no_comment(tmp_path: Path) -> None:
    rows = [f'i{n // 2},{"ab"[n % 2]},{n % 5},"{TEXTS[n // 2]}","{TEXTS[n]}"' for n in range(26)]
    text = "\n".join(["item,rater,empathy,Vignette,client_text", *rows])
    file = read_file(written(tmp_path, text))
    assert file.account.file.unused == ["Vignette", "client_text"]
    assert file.ratings["reason"].null_count() == 26


def test_metrics_and_without_decide(run: Run, tmp_path: Path) -> None:
    sheet = written(tmp_path, justified("Empathy,Warmth"))
    file = read_file(sheet, metrics=["empathy"])
    assert set(file.ratings["metric"]) == {"Empathy"}
    assert sorted(file.ratings["reason"]) == TEXTS
    assert set(read_file(sheet, without=["Warmth"]).ratings["metric"]) == {"Empathy"}
    assert read_file(sheet, without=["Justification"]).ratings["reason"].null_count() == 52
    labels = read_file(sheet, metrics=["Justification"])
    assert labels.ratings["label"].n_unique() == 26
    check_refusal(sheet, "the file has no metric 'Warmht'", metrics=["Warmht"])
    check_refusal(sheet, "the file has no metric 'Warmht'", without=["Warmht"])


def test_a_scale_for_all_is_for_all_numbers(tmp_path: Path) -> None:
    text = "item,rater,warmth,pace,style\na,anna,0,6,open\na,ben,1,5,closed\nb,anna,2,2,open\n"
    file = read_file(written(tmp_path, text), scales=parse_scales(["0-6"]))
    assert set(file.scales) == {"warmth", "pace"}
    assert sorted(file.ratings["label"].drop_nulls()) == ["closed", "open", "open"]
    off = written(tmp_path, text.replace("0,6", "0,7"), "off.csv")
    check_refusal(off, "'7' is not on the scale of pace", scales=parse_scales(["0-6"]))


def test_a_question_names_a_metric_as_the_sheet_does(tmp_path: Path) -> None:
    sheet = written(tmp_path, wide({"Empathy": (ANNA, BEN), "Partnership": (BEN, ANNA)}))
    (result,) = bedside.agree(sheet, metrics="Empathy").results
    assert result.metric == "empathy"


def test_a_scale_that_a_question_is_given_is_of_the_metric_in_any_spelling(run: Run, tmp_path: Path) -> None:
    """Before, a scale of ``risk level`` was passed over where the sheet wrote ``Risk Level``: κ had no weights."""
    levels = ["NONE", "Some risk", "grave"]
    anna, ben = [0, 1, 2, 2, 1, 0, 1, 0, 2, 1], [0, 1, 2, 1, 1, 0, 2, 0, 2, 0]
    rows = [
        f"t{number},{who},{levels[said[number]]}"
        for who, said in (("anna", anna), ("ben", ben))
        for number in range(10)
    ]
    bedside.import_ratings(run, written(tmp_path, "\n".join(["item,rater,Risk Level", *rows]) + "\n"))
    scale = "risk_level=none<some risk<Grave"
    (table,) = bedside.agree(run.path, scales=scale, metrics="Risk Level")
    found = {row["statistic"]: row["estimate"] for row in table.records if row["title"] == "Risk level"}
    assert found["kappa"] == pytest.approx(cohen_kappa_score(anna, ben, weights="quadratic"))
    with pytest.raises(DataError, match="no metric 'risc' is rated"):
        bedside.agree(run.path, scales="risc=1-5")


def test_a_scale_for_all_is_of_what_a_file_brought_without_one(run: Run, tmp_path: Path) -> None:
    bedside.import_ratings(run, written(tmp_path, wide({"warmth": (ANNA, BEN)})))
    table, _ = bedside.agree(run.path, scales="1-5", metrics="warmth")
    (kappa,) = [row["estimate"] for row in table.records if row["statistic"] == "kappa"]
    assert kappa == pytest.approx(cohen_kappa_score(ANNA, BEN, weights="quadratic", labels=[1, 2, 3, 4, 5]))


#: Labels of five words and more, of which a small sheet has hardly one twice.
PHRASES = ["open question about her feelings", "closed question about a fact", "reflection of what was said before"]


@pytest.mark.parametrize(
    ("header", "options"),
    [
        ("item,rater,Verhalten", {"columns": {"value": "Verhalten"}}),
        ("item,rater,Verhalten", {"metrics": "Verhalten"}),
        ("item,rater,Verhalten", {"scales": "/".join(PHRASES)}),
        ("item,rater,metric,value", {"scales": f"behaviour={'/'.join(PHRASES)}"}),
        ("item,rater,metric,value", {"scales": "/".join(PHRASES).upper()}),
        ("item,anna", {"scales": "/".join(PHRASES), "form": "by_rater"}),
    ],
)
def test_labels_that_look_like_comments_are_labels_where_the_user_says_so(
    run: Run, tmp_path: Path, header: str, options: dict[str, Any]
) -> None:
    """Before, a column that was named as the value held no rating, and so did a scale for all of such labels."""
    between = {"item,rater,Verhalten": ",anna", "item,rater,metric,value": ",anna,behaviour", "item,anna": ""}[header]
    rows = [f"t{number}{between},{phrase}" for number, phrase in enumerate(PHRASES)]
    sheet = written(tmp_path, "\n".join([header, *rows]) + "\n")
    bedside.import_ratings(run, sheet, **options)
    people = bedside.read_run(run.path).ratings.filter(pl.col("rater") == "human:anna").sort("transcript_id")
    assert [label.casefold() for label in people["label"]] == PHRASES


def test_a_sheet_of_nothing_but_comments_says_how_to_read_them_as_labels(run: Run, tmp_path: Path) -> None:
    rows = [f"t{number},anna,{phrase}" for number, phrase in enumerate(PHRASES)]
    sheet = written(tmp_path, "\n".join(["item,rater,Verhalten", *rows]) + "\n")
    with pytest.raises(InputError, match=r"the texts in 'Verhalten' look like comments; .*metrics=Verhalten"):
        bedside.import_ratings(run, sheet)


def test_a_mark_behind_a_question_makes_no_other_metric(run: Run, tmp_path: Path) -> None:
    """Before, comments on ``Crisis?`` were nine labels of a metric ``Comments on crisis``."""
    rows = [f"t{number},anna,{JUDGE[number]},yes,{'see turn 3' if number < 2 else ''}" for number in range(10)]
    head = "item,rater,Empathy: *,Crisis?,Comments on crisis"
    bedside.import_ratings(run, written(tmp_path, "\n".join([head, *rows]) + "\n"))
    people = bedside.read_run(run.path).ratings.filter(pl.col("rater") == "human:anna")
    assert sorted(people["metric"].unique()) == ["Crisis?", "empathy"]
    assert people.filter(pl.col("reason") == "see turn 3")["metric"].to_list() == ["Crisis?"] * 2


def test_what_the_user_renamed_is_not_said_to_be_kept_apart_by_an_option(tmp_path: Path) -> None:
    text = "item,rater,metric,value\nt0,anna,warm,3\nt1,ANNA,warm,4\nt2,AK,warm,2\nt3,anna,warm,3\n"
    file = read_file(written(tmp_path, text), rename={"warm": "warmth", "AK": "ben"})
    assert file.account.names.line() == (
        "Renamed: 'warm' is warmth; 'AK' is ben. Joined: 'ANNA' is anna. `exact` keeps them apart."
    )


def test_ratings_are_not_replaced_by_those_of_somebody_whose_name_is_spelt_alike(run: Run, tmp_path: Path) -> None:
    """Before, the sheet of a second person, ``a``, took the place of all that ``A`` had rated."""

    def sheet(rater: str, levels: list[int], name: str) -> Path:
        rows = [f"t{number},{rater},warmth,{level}" for number, level in enumerate(levels)]
        return written(tmp_path, "\n".join(["item,rater,metric,value", *rows]) + "\n", name)

    def rated() -> dict[str, list[float]]:
        people = bedside.read_run(run.path).ratings.filter(pl.col("rater").str.starts_with("human:"))
        return {
            str(rater): part.sort("transcript_id")["value"].to_list() for (rater,), part in people.group_by("rater")
        }

    bedside.import_ratings(run, sheet("A", ANNA, "first.csv"))
    second = sheet("a", BEN, "second.csv")
    with pytest.raises(InputError, match=r"second.csv:2.*'a' may be 'A', who rated 't0' .*\(5 ratings .*rename=a=A"):
        bedside.import_ratings(bedside.read_run(run.path), second)
    assert rated() == {"human:A": ANNA}
    # Who says the same is the same, and a file may correct what it said.
    bedside.import_ratings(bedside.read_run(run.path), sheet("a", ANNA, "again.csv"))
    assert rated() == {"human:A": ANNA}
    bedside.import_ratings(bedside.read_run(run.path), sheet("a", JUDGE, "again.csv"))
    assert rated() == {"human:A": JUDGE}
    bedside.import_ratings(bedside.read_run(run.path), second, rename={"a": "A"})
    assert rated() == {"human:A": BEN}
    bedside.import_ratings(bedside.read_run(run.path), sheet("a", ANNA, "other.csv"), exact=True)
    assert rated() == {"human:A": BEN, "human:a": ANNA}

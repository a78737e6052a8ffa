"""Agreement on runs and files, against other implementations, known figures and tables of everything."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import krippendorff
import numpy as np
import polars as pl
import pytest
import scipy.stats
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.inter_rater import fleiss_kappa

import bedside
from bedside.analysis.agreement import Agreement, SpanAgreement, agree, marked_spans, named_turns
from bedside.analysis.agreement_statistics import STATISTICS
from bedside.analysis.choices import IccForm
from bedside.analysis.ratings_view import RatingsView, open_ratings_view
from bedside.analysis.selection import NothingError
from bedside.analysis.validation import validate
from bedside.annotation.answer_store import keep_answers
from bedside.annotation.answers import marked_turn, reason_with_evidence
from bedside.annotation.label_studio_export import read_export
from bedside.annotation.sampling import make_plan
from bedside.core.errors import DataError
from bedside.ratings.run import Run
from bedside.ratings.scales import parse_scales
from bedside.ratings.table import frame_of
from bedside.reports.notes import NoteText
from bedside.reports.tables import agreement as agreement_module
from bedside.reports.tables.agreement import COLUMNS, AgreementOptions, StatisticColumn, agreement_table, agreements_of
from bedside.scoring.score import score
from bedside.stats import unitizing
from tests.analysis.builders import column, definite, ends, has_note, rating
from tests.annotation.study import EMPATHY, RATERS, USERS, exported
from tests.conftest import conversation
from tests.reference import statistics as published

EXAMPLES = Path(bedside.__file__).parent / "examples"
FIVE = parse_scales(["1-5"])
SCALES = {"warmth": FIVE[None]}


def row_of(agreements: Sequence[Agreement], kind: str = "people", title: str | None = None) -> Agreement:
    """The one row of a kind, on a metric of that title."""
    (row,) = (a for a in agreements if a.kind == kind and title in (None, a.title))
    return row


def estimate_of(agreement: Agreement, statistic: str) -> float:
    return definite(agreement.statistics[statistic].estimate)


def view_of(
    folder: Path, columns: Mapping[str, Sequence[Any]], scale: str | None = "1-5", name: str = "wide.csv"
) -> RatingsView:
    """A file with a column for each rater; None where there is no rating."""
    lines = [",".join(["item", "metric", *columns])]
    for n, row in enumerate(zip(*columns.values(), strict=True)):
        lines.append(",".join([f"i{n}", "rating", *("" if v is None else str(v) for v in row)]))
    (folder / name).write_text("\n".join(lines) + "\n")
    return open_ratings_view(folder / name, scales=parse_scales([scale]) if scale else None)


def drawn_view(
    cells: Any, drawn: Sequence[float | None], cases: Sequence[str] | None = None, raters: str = "abcm"
) -> RatingsView:
    """Warmth of transcripts by people and, at the end, a judge, with the chance with which each was drawn."""
    names = [f"human:{rater}" if rater != "m" else "judge:m" for rater in raters]
    rows = [
        (rating(f"t{unit}", "s", cases[unit] if cases else f"c{unit}", "warmth", name, float(value)),
         drawn[unit] if name.startswith("human:") else None)
        for unit, row in enumerate(cells) for name, value in zip(names, row, strict=False)
    ]  # fmt: skip
    return RatingsView(frame_of([r for r, _ in rows], "main", [c for _, c in rows]), SCALES, None, "the run")


@pytest.fixture(scope="module")
def annomi_run(annomi: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("annomi") / "run"
    score([annomi], path, metrics=["behaviour"])
    return path


@pytest.mark.slow
def test_annomi_equals_other_implementations_on_the_file_itself(annomi: Path, annomi_run: Path) -> None:
    """Codes taken from the CSV with nothing of bedside in between.

    Wu et al. (2022) give Fleiss' kappa .74 for main behaviour and .47 for client talk on all seven sessions.
    """
    rows = pl.read_csv(annomi, infer_schema=False, null_values=[]).filter(
        pl.col("transcript_id").is_in(["7", "27", "56", "66"])
    )
    agreements = agree(open_ratings_view(annomi_run))
    for title, code, paper, near in (
        ("Main behaviour", "main_therapist_behaviour", 0.74, 0.05), ("Client talk", "client_talk_type", 0.47, 0.1),
    ):  # fmt: skip
        wide = rows.filter(pl.col(code) != "n/a").pivot(
            "annotator_id", index=["transcript_id", "utterance_id"], values=code, sort_columns=True
        )
        cells = wide.drop("transcript_id", "utterance_id").to_numpy()
        labels = sorted(set(cells.ravel()))
        codes = np.vectorize(labels.index)(cells)
        mine = row_of(agreements, title=title)
        assert (mine.units, len(mine.raters)) == cells.shape == (len(cells), 10)
        counts = np.stack([(codes == k).sum(axis=1) for k in range(len(labels))], axis=1)
        by_coder = codes.T
        expected = {
            "fleiss": fleiss_kappa(counts, method="fleiss"),
            "alpha": krippendorff.alpha(by_coder.astype(float), level_of_measurement="nominal"),
            "kappa": np.mean([cohen_kappa_score(a, b) for a, b in combinations(by_coder, 2)]),
            "percent agreement": np.mean([(a == b).mean() for a, b in combinations(by_coder, 2)]),
        }
        assert {name: estimate_of(mine, name) for name in expected} == pytest.approx(expected, abs=1e-12)
        assert estimate_of(mine, "fleiss") == pytest.approx(paper, abs=near)


def test_turns_that_one_person_coded_are_counted_not_compared(annomi: Path, annomi_run: Path) -> None:
    rows = pl.read_csv(annomi, infer_schema=False).filter(pl.col("interlocutor") == "therapist")
    coders = rows.group_by("transcript_id", "utterance_id").len()["len"].to_list()
    people = row_of(agree(open_ratings_view(annomi_run), metrics=["question"]), title="Question")
    assert (people.alone, people.units, people.transcripts) == (coders.count(1), coders.count(10), 4)


@pytest.fixture(scope="module")
def example_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("example") / "run"
    score([EXAMPLES / "transcripts.jsonl"], path, metrics=["behaviour"])
    return path


def test_an_algorithm_stands_beside_people_as_the_mean_over_persons(example_run: Path) -> None:
    ratings = bedside.read_run(example_run).ratings.filter(pl.col("metric") == "question")
    wide = ratings.pivot("rater", index=["transcript_id", "unit"], values="label")
    rules = next(name for name in wide.columns if name.startswith("algorithm:"))
    people = [wide[f"human:{who}"] for who in ("anna", "ben")]
    mine = row_of(agree(open_ratings_view(example_run)), "mean", "Question")
    assert (mine.between, mine.raters[-1]) == (f"{rules} and people", rules)
    expected = np.mean([cohen_kappa_score(wide[rules], person) for person in people])
    assert estimate_of(mine, "kappa") == pytest.approx(expected, abs=1e-12)
    same = np.mean([(wide[rules] == person).mean() for person in people])
    assert estimate_of(mine, "percent agreement") == pytest.approx(same, abs=1e-12)


def test_labels_of_which_all_are_the_same_leave_the_other_metrics(tmp_path: Path) -> None:
    lines = ["item,rater,metric,value"]
    lines += [f"t{n},{rater},tone,calm" for n in range(6) for rater in ("anna", "ben")]
    lines += [f"t{n},{rater},act,{'open' if n % 2 else 'closed'}" for n in range(6) for rater in ("anna", "ben")]
    (tmp_path / "labels.csv").write_text("\n".join(lines))
    tone, act = sorted(agree(open_ratings_view(tmp_path / "labels.csv")), key=lambda row: row.metric, reverse=True)
    assert (tone.statistics["percent agreement"].estimate, tone.statistics["kappa"].estimate) == (1, None)
    assert act.statistics["kappa"].estimate == 1


def test_ordered_scales_are_weighted_by_the_whole_scale() -> None:
    view = open_ratings_view(EXAMPLES / "ratings.csv", scales=FIVE)
    wide = view.ratings.filter(metric="partnership").pivot("rater", index="transcript_id", values="value")
    both = wide.drop_nulls()
    first = agree(view, metrics=["partnership"])[0]
    assert (first.level, first.units, first.alone) == ("ordinal", 11, 1)
    for weights in ("quadratic", "linear", "none"):
        expected = cohen_kappa_score(
            both["human:anna"].cast(int), both["human:ben"].cast(int), labels=[1, 2, 3, 4, 5],
            weights=None if weights == "none" else weights,
        )  # fmt: skip
        mine = agree(view, metrics=["partnership"], weights=weights)[0]
        assert estimate_of(mine, "kappa") == pytest.approx(expected, abs=1e-12)
    alpha = krippendorff.alpha(
        wide.drop("transcript_id").to_numpy().T, level_of_measurement="ordinal", value_domain=[1, 2, 3, 4, 5]
    )
    assert estimate_of(first, "alpha") == pytest.approx(alpha, abs=1e-12)


def test_numbers_off_any_scale_get_interval_alpha(tmp_path: Path) -> None:
    seconds = {"rater 1": [1.5, 2.5, 9.1], "rater 2": [1.7, 2.4, 8.8]}
    people = agree(view_of(tmp_path, seconds, scale=None))[0]
    assert people.level == "interval"
    assert list(people.statistics) == ["alpha", "icc", "spearman", "mae"]
    expected = krippendorff.alpha(list(seconds.values()), level_of_measurement="interval")
    assert estimate_of(people, "alpha") == pytest.approx(expected, abs=1e-12)


def test_raters_can_be_chosen(example_run: Path) -> None:
    view = open_ratings_view(example_run)
    assert {a.between for a in agree(view, metrics=["question"], raters=["human:*"])} == {"people"}
    with pytest.raises(NothingError):
        agree(view, metrics=["question"], raters=["human:anna"])


def test_constant_ratings_are_undefined_not_perfect(tmp_path: Path) -> None:
    people = agree(view_of(tmp_path, {"rater 1": [3, 3, 3], "rater 2": [3, 3, 3]}))[0]
    assert people.statistics["kappa"].estimate is None
    assert people.statistics["kappa"].missing
    assert people.statistics["percent agreement"].estimate == 1.0


ANNA = [1, 2, 3, 4, 5, 5, 4, 3, 2, 1]
BEN = [1, 2, 3, 5, 5, 4, 4, 3, 1, 1]
CLEO = [2, 2, 3, 4, 5, 4, 3, 3, 2, 1]
JUDGE = [2, 3, 3, 4, 5, 5, 5, 3, 3, 1]
LEVELS = {"anna": ANNA, "ben": BEN, "cleo": CLEO, "judge:m": JUDGE}
ANNA_AND_BEN = sum(a == b for a, b in zip(ANNA, BEN, strict=True))


def weighted(a: list[int], b: list[int]) -> float:
    return float(cohen_kappa_score(a, b, labels=[1, 2, 3, 4, 5], weights="quadratic"))


def test_a_judge_stands_beside_each_person_the_consensus_and_the_ceiling(tmp_path: Path) -> None:
    agreements = agree(view_of(tmp_path, LEVELS))
    rows = {(a.kind, a.raters[0]): a for a in agreements}
    people = [ANNA, BEN, CLEO]
    alone = [weighted(person, JUDGE) for person in people]
    by_person = [estimate_of(rows["person", f"human:{name}"], "kappa") for name in ("anna", "ben", "cleo")]
    assert by_person == pytest.approx(alone, abs=1e-12)
    assert estimate_of(rows["mean", "human:anna"], "kappa") == pytest.approx(np.mean(alone), abs=1e-12)
    median = [int(np.median(row)) for row in zip(*people, strict=True)]
    consensus = rows["consensus", "human:anna"]
    assert estimate_of(consensus, "kappa") == pytest.approx(weighted(median, JUDGE), abs=1e-12)
    assert consensus.ties == 0
    assert consensus.confusion["2", "3"] == sum(m == 2 and j == 3 for m, j in zip(median, JUDGE, strict=True))
    assert estimate_of(consensus, "bias") == pytest.approx(np.mean(JUDGE) - np.mean(median))
    # One person against the median of the two others, where they agree.
    ceiling = []
    for who, own in enumerate(people):
        first, second = (person for position, person in enumerate(people) if position != who)
        both = [(own[i], first[i]) for i in range(10) if first[i] == second[i]]
        ceiling.append(weighted([a for a, _ in both], [b for _, b in both]))
    mine = row_of(agreements, "ceiling")
    assert estimate_of(mine, "kappa") == pytest.approx(np.mean(ceiling), abs=1e-12)
    assert mine.ties == sum(a != b for x, y in combinations(people, 2) for a, b in zip(x, y, strict=True))
    for agreement in agreements:
        for name, result in agreement.statistics.items():
            low, high = ends(result.interval)
            assert low <= definite(result.estimate) <= high, (agreement.between, name)


@pytest.mark.slow
def test_two_raters_equal_pingouin_and_scipy(tmp_path: Path) -> None:
    pingouin = pytest.importorskip("pingouin")

    agreements = agree(view_of(tmp_path, LEVELS))
    row = next(a for a in agreements if a.kind == "person" and a.raters[0] == "human:ben")
    long = [(i, name, value) for name, values in (("b", BEN), ("j", JUDGE)) for i, value in enumerate(values)]
    table = pl.DataFrame(long, schema=["item", "rater", "value"], orient="row").to_pandas()
    forms = pingouin.intraclass_corr(table, targets="item", raters="rater", ratings="value")
    by_form = {str(name).replace(" ", ""): value for name, value in zip(forms["Type"], forms["ICC"], strict=True)}
    single = next(by_form[name] for name in ("ICC2", "ICC(A,1)") if name in by_form)
    assert estimate_of(row, "icc") == pytest.approx(single, abs=1e-9)
    assert estimate_of(row, "spearman") == pytest.approx(scipy.stats.spearmanr(BEN, JUDGE).statistic)
    assert estimate_of(row, "mae") == pytest.approx(np.mean(np.abs(np.array(BEN) - JUDGE)))


def test_passes_of_a_judge_count_as_their_most_frequent_value(tmp_path: Path) -> None:
    rows = ["item,rater,value,replicate"]
    for item, passes in (("x", (1, 5, 5)), ("y", (2, 3, 5)), ("z", (4, 4, 1)), ("w", (1, 2, 5))):
        rows += [f"{item},judge:m,{value},{n}" for n, value in enumerate(passes)]
    rows += [f"{item},anna,{value}," for item, value in (("x", 5), ("y", 3), ("z", 4), ("w", 2))]
    (tmp_path / "passes.csv").write_text("\n".join(rows) + "\n")
    agreements = agree(open_ratings_view(tmp_path / "passes.csv", scales=FIVE))
    # y: 2, 3 and 5 are equally frequent and 3 is nearest their mean; w: 2 is.
    assert estimate_of(agreements[0], "percent agreement") == 1.0


def test_passes_that_differ_move_a_judge_to_neither_side(tmp_path: Path) -> None:
    """Two passes a unit, off by a level: taking the lower made a judge that is right on the whole too low."""
    rng = np.random.default_rng(4)
    rows = ["item,rater,metric,value,replicate"]
    for n in range(400):
        level, coin = int(rng.integers(2, 5)), rng.random(2)
        rows += [f"{n},anna,level,{level},", f"{n},anna,word,{'yes' if level > 2 else 'no'},"]
        for number in range(2):
            guess = level + (-1 if coin[number] < 0.25 else 1 if coin[number] > 0.75 else 0)
            word = "yes" if (level > 2) != (coin[number] < 0.2) else "no"
            rows += [f"{n},judge:m,level,{guess},{number}", f"{n},judge:m,word,{word},{number}"]
    (tmp_path / "passes.csv").write_text("\n".join(rows) + "\n")
    view = open_ratings_view(tmp_path / "passes.csv", scales=parse_scales(["level=1-5", "word=no/yes"]))
    by_metric = {a.metric: a for a in agree(view) if len(a.raters) == 2}
    assert abs(estimate_of(by_metric["level"], "bias")) < 0.1
    same = estimate_of(by_metric["word"], "percent agreement")
    assert same == pytest.approx(0.8, abs=0.06), "no unit is left out"


@pytest.mark.parametrize(
    ("anna", "ben", "rules", "counts", "same"),
    [
        ("ooco", "occo", "oocc", (3, 1, 0), 2 / 3),
        # A tie on what the rater has no rating of is not left out of its row.
        ("ooco-", "occc-", "ooc-o", (2, 1, 1), 1),
    ],
    ids=["a tie", "a tie of a unit that the rater has not"],
)  # fmt: skip
def test_ties_of_people_are_counted_not_settled(
    anna: str, ben: str, rules: str, counts: tuple[int, ...], same: float, tmp_path: Path
) -> None:
    labels = {"o": "open", "c": "closed", "-": None}
    columns = {name: [labels[c] for c in own] for name, own in (("anna", anna), ("ben", ben), ("algorithm:x@1", rules))}
    consensus = row_of(agree(view_of(tmp_path, columns, scale=None)), "consensus")
    assert (consensus.units, consensus.ties, consensus.alone) == counts
    assert estimate_of(consensus, "percent agreement") == pytest.approx(same)


def test_a_statistic_is_computed_where_it_applies_and_nowhere_else(tmp_path: Path) -> None:
    for agreement in agree(view_of(tmp_path, LEVELS)):
        pair = len(agreement.raters) == 2 or agreement.kind == "consensus"
        expected = [
            statistic.name
            for statistic in STATISTICS
            if agreement.kind in statistic.kinds
            and agreement.level in statistic.levels
            and (pair or not statistic.pair)
            # Nobody here gives a single level to everything, and no chances are known.
            and statistic.name not in ("kappa without constant raters", "kappa of rated units")
        ]
        assert list(agreement.statistics) == expected, agreement.between
    names = [statistic.name for statistic in STATISTICS]
    assert len(set(names)) == len(names)
    assert {c.statistic for c in COLUMNS if isinstance(c, StatisticColumn)} <= set(names)
    assert len({c.title for c in COLUMNS}) == len(COLUMNS)


def test_agreements_are_computed_once_for_a_view(example_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[RatingsView] = []

    def counted(view: RatingsView, **options: Any) -> tuple[Agreement, ...]:
        calls.append(view)
        return agree(view, **options)

    monkeypatch.setattr(agreement_module, "agree", counted)
    view, options = open_ratings_view(example_run), AgreementOptions()
    first = agreements_of(view, options, 0)
    assert agreements_of(view, options, 0) is first
    assert len(calls) == 1
    agreements_of(view, options, 1)
    # The same ratings in another view are other ratings, as far as anybody knows.
    agreements_of(replace(view, ratings=view.ratings.head(0)), options, 0)
    assert len(calls) == 3


def test_units_rated_once_count_for_the_shares_of_levels_in_ac(tmp_path: Path) -> None:
    """R's irrCAC, gwet.ac1.raw(cac.raw4raters), where one observer alone rated the last unit: AC1 .77544."""
    observers = zip(*published.as_items(published.KRIPPENDORFF_C), strict=True)
    view = view_of(tmp_path, {f"r{n}": list(ratings) for n, ratings in enumerate(observers)})
    people = row_of(agree(view, weights="none"))
    assert estimate_of(people, "ac") == pytest.approx(0.77544, abs=5e-6)
    assert (people.units, people.alone, people.statistics["ac"].n) == (11, 1, 12)


def test_each_statistic_shows_the_units_it_rests_on(tmp_path: Path) -> None:
    """Of 200 units two of three people rated each, and all three rated 12."""
    rng = np.random.default_rng(0)
    ratings = np.clip(rng.integers(1, 6, (200, 1)) + rng.integers(-1, 2, (200, 3)), 1, 5).astype(object)
    ratings[np.arange(12, 200), rng.integers(0, 3, 188)] = None
    agreements = agree(view_of(tmp_path, dict(zip("abc", ratings.T.tolist(), strict=True))))
    people = row_of(agreements)
    assert (people.units, people.statistics["icc"].n, people.statistics["fleiss"].n) == (200, 12, 12)
    table = agreement_table(agreements)
    assert column(table, "Units")[0] == "200"
    assert column(table, "ICC")[0].endswith(" (n 12 of 200)")
    assert column(table, "Fleiss κ")[0].endswith(" (n 12 of 200)")
    assert "n" not in column(table, "κ [95 % CI]")[0]
    records = {r["statistic"]: r["n"] for r in table.records if r["kind"] == "people"}
    assert (records["icc"], records["kappa"]) == (12, 200)


@pytest.mark.parametrize(("yes", "is_said"), [(3, True), (8, False)])
def test_a_rare_level_in_few_cases_is_said_beside_intervals(tmp_path: Path, yes: int, is_said: bool) -> None:
    """Of 20 items and 3 raters with 16 % yes, the interval of α held the truth in 87 % of 2,000 studies."""
    said = ["yes"] * yes + ["no"] * (20 - yes)
    table = agreement_table(agree(view_of(tmp_path, {"ann": said, "ben": said[::-1], "cleo": said}, scale=None)))
    assert has_note(table, "fewer than 10 cases: intervals of κ and α may be too short (Rating)") is is_said


def test_a_constant_rater_is_named_and_kappa_is_shown_without(tmp_path: Path) -> None:
    agreements = agree(view_of(tmp_path, {**LEVELS, "dora": [3] * 10}))
    people = row_of(agreements)
    pairs = [weighted(a, b) for a, b in combinations((ANNA, BEN, CLEO), 2)]
    assert people.constant == {"human:dora": "3"}
    assert estimate_of(people, "kappa") == pytest.approx(sum(pairs) / 6)
    assert estimate_of(people, "kappa without constant raters") == pytest.approx(np.mean(pairs))
    (note,) = (n for n in agreement_table(agreements).notes if n.startswith("Rating, people: κ is 0 by its formula"))
    assert "(dora only 3)." in note
    assert f"Of the other pairs κ is {np.mean(pairs):.2f}".replace("0.", ".") in note


@pytest.mark.slow
def test_alpha_and_icc_come_in_the_form_that_is_asked(tmp_path: Path) -> None:
    pingouin = pytest.importorskip("pingouin")

    view = view_of(tmp_path, LEVELS)
    cells = np.array([ANNA, BEN, CLEO], dtype=float)
    for metric in ("nominal", "ordinal", "interval"):
        people = row_of(agree(view, alpha=metric, raters=["human:*"]))
        expected = krippendorff.alpha(cells, level_of_measurement=metric)
        assert estimate_of(people, "alpha") == pytest.approx(expected, abs=1e-12)
    long = [(i, rater, value) for rater, row in enumerate(cells) for i, value in enumerate(row)]
    table = pl.DataFrame(long, schema=["item", "rater", "value"], orient="row").to_pandas()
    theirs = pingouin.intraclass_corr(table, targets="item", raters="rater", ratings="value")["ICC"]
    # In the order of Shrout and Fleiss: of one rater, then of the mean of all.
    forms: tuple[IccForm, ...] = ("1,1", "2,1", "3,1", "1,k", "2,k", "3,k")
    for form, expected in zip(forms, theirs, strict=True):
        agreements = agree(view, icc=form, raters=["human:*"])
        assert estimate_of(agreements[0], "icc") == pytest.approx(expected, abs=1e-9)
        assert has_note(agreement_table(agreements), f"ICC: ICC({form}), ")


@pytest.mark.parametrize(("option", "form"), [("icc", "4,1"), ("alpha", "ratio"), ("weights", "cubic")])
def test_forms_that_are_not_known_are_refused(option: str, form: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=f"`{option}`: .*'{form}'"):
        agree(view_of(tmp_path, LEVELS), **{option: form})  # type: ignore[arg-type]


def test_labels_have_a_nominal_alpha_whatever_is_asked(tmp_path: Path) -> None:
    labels = {"anna": ["open", "open", "closed", "none"], "ben": ["open", "closed", "closed", "none"]}
    view = view_of(tmp_path, labels, scale=None)
    assert agree(view, alpha="interval")[0].statistics["alpha"] == agree(view)[0].statistics["alpha"]


def test_limits_of_agreement_have_intervals_in_the_table(tmp_path: Path) -> None:
    """Bland and Altman (1986), the two peak flow meters: limits −78.10 and 73.86."""
    meters = {"wright": published.MINI_WRIGHT, "judge:mini": published.WRIGHT}
    agreements = agree(view_of(tmp_path, meters, scale=None))
    row = row_of(agreements, "mean")
    # Their standard error of a limit, √3 s / √n in short, with t of 16 degrees of freedom: about ± 34.
    half = 2.1199 * 38.7651299 * np.sqrt(1 / 17 + 1.96**2 / 32)
    for name, value in (("lower limit", -78.0973), ("upper limit", 73.8620)):
        limit = estimate_of(row, name)
        assert limit == pytest.approx(value, abs=5e-5)
        assert ends(row.statistics[name].interval) == pytest.approx((limit - half, limit + half), abs=1e-3)
    titles = {shown.title for shown in agreement_table(agreements).columns}
    assert {"Lower limit [95 % CI]", "Upper limit [95 % CI]"} <= titles


def test_the_consensus_of_two_people_comes_last_and_says_its_share(tmp_path: Path) -> None:
    two = {name: levels for name, levels in LEVELS.items() if name != "cleo"}
    table = agreement_table(agree(view_of(tmp_path, two)))
    assert [heading for heading, _ in table.groups()] == [
        "People among themselves", "m and each person, mean", "m and anna", "m and ben",
        "m and the consensus of people",
    ]  # fmt: skip
    assert column(table, "Units")[-1] == f"{ANNA_AND_BEN} of 10"
    assert has_note(table, "The consensus of two people")


@pytest.mark.parametrize(
    ("chances", "words"),
    [
        ((0.5, 0.5), None),
        ((0.1, 0.5), "drawn with unequal chances"),
        ((0.0, 0.0), "picked for what they are"),
        ((0.5, None), "is not known of all of them"),
    ],
)
def test_units_that_are_no_simple_random_sample_are_named(
    chances: tuple[float | None, float | None], words: str | None
) -> None:
    view = drawn_view(zip(ANNA, BEN, strict=True), [chances[n % 2] for n in range(10)])
    notes = [note for note in agreement_table(agree(view)).notes if note.startswith("Warmth: ")]
    assert bool(notes) == (words is not None)
    assert all(str(words) in note for note in notes)


def test_units_that_were_picked_are_left_out_where_others_were_drawn() -> None:
    """Those that raters differ on, say: of them nothing follows for the others."""
    drawn = [0.5 if a == b else 0.0 for a, b in zip(ANNA, BEN, strict=True)]
    (people,) = agree(drawn_view(zip(ANNA, BEN, strict=True), drawn))
    assert (people.units, people.picked, people.chances) == (ANNA_AND_BEN, 10 - ANNA_AND_BEN, "equal")
    assert has_note(agreement_table((people,)), "picked for what they are")


def test_ordered_scales_have_a_weighted_fleiss_kappa(tmp_path: Path) -> None:
    people = row_of(agree(view_of(tmp_path, LEVELS), weights="linear", raters=["human:*"]))
    rows = list(zip(ANNA, BEN, CLEO, strict=True))
    levels = [value for row in rows for value in row]
    observed = np.mean([abs(a - b) for row in rows for a, b in combinations(row, 2)])
    chance = np.mean([abs(a - b) for a in levels for b in levels])
    assert estimate_of(people, "fleiss") == pytest.approx(1 - observed / chance, abs=1e-12)


def test_the_interval_of_numbers_on_turns_leaves_out_whole_transcripts() -> None:
    """Turns of a transcript repeat each other: ten transcripts, each with one difference, are ten differences."""
    rng = np.random.default_rng(1)
    effects = rng.normal(size=10)
    rows = []
    for transcript in range(10):
        for turn in range(20):
            truth = rng.normal()
            rows += [
                rating(f"t{transcript}", "s", None, "length", rater, float(value), unit=f"turn:{turn}")
                for rater, value in (("human:a", truth), ("judge:m", truth + effects[transcript]))
            ]
    row = row_of(agree(RatingsView(frame_of(rows), {}, None, "the run")), "mean")
    by_transcript = scipy.stats.ttest_1samp(effects, 0).confidence_interval()
    assert ends(row.statistics["bias"].interval) == pytest.approx(tuple(by_transcript), abs=1e-9)
    for name in ("lower limit", "upper limit"):
        low, high = ends(row.statistics[name].interval)
        # The 200 turns taken as independent would have it about four times as narrow.
        assert high - low > 0.7 * (by_transcript.high - by_transcript.low)
    assert row.statistics["spearman"].interval is None
    assert "not independent" in (row.statistics["spearman"].missing or "")


def test_labels_in_order_are_weighted_by_their_order(tmp_path: Path) -> None:
    """As the numbers of their places, but for what needs distances."""
    names = ["none", "mild", "fair", "severe", "worst"]
    labels = {rater: [names[level - 1] for level in levels] for rater, levels in LEVELS.items()}
    of_labels = agree(view_of(tmp_path, labels, "<".join(names), "labels.csv"))
    ordered = tuple(a for a in of_labels if not a.title.endswith(": any or none"))
    numbers = agree(view_of(tmp_path, LEVELS))
    counts = ([(a.kind, a.between, a.units, a.ties) for a in rows] for rows in (ordered, numbers))
    assert next(counts) == next(counts)
    for mine, same in zip(ordered, numbers, strict=True):
        assert mine.level == "ordinal"
        for name in mine.statistics:
            assert estimate_of(mine, name) == pytest.approx(estimate_of(same, name), abs=1e-12), name
        numeric = {"icc", "spearman", "bias", "lower limit", "upper limit", "mae"}
        assert set(same.statistics) - set(mine.statistics) == numeric & set(same.statistics)


def test_metrics_that_no_two_people_both_rated_are_named(tmp_path: Path) -> None:
    """Before, they were passed over where people shared the units of another."""
    path = tmp_path / "ratings.csv"
    lines = ["item,rater,metric,value"]
    lines += [f"t{n},{who},empathy,{1 + n % 5}" for n in range(10) for who in ("anna", "ben")]
    # Of warmth each rated other units, tact one person did, depth one beside a judge, and clarity nobody.
    lines += [f"t{n},{'anna' if n < 6 else 'ben'},warmth,{1 + n % 5}" for n in range(10)]
    lines += [f"t{n},anna,tact,{1 + n % 5}" for n in range(7)]
    lines += [f"t{n},{who},depth,{1 + n % 5}" for n in range(8) for who in ("ben", "judge:m")]
    lines += [f"t{n},judge:m,clarity,{1 + n % 5}" for n in range(8)]
    path.write_text("\n".join(lines) + "\n")
    table = bedside.agree(path, scales="1-5")[0]
    assert "Depth (8 units, 1 person), Tact (7 units, 1 person), Warmth (10 units, 2 people)" in table.notes[0]
    apart = [record for record in table.records if record["kind"] == "people" and not record["units"]]
    assert [(each["metric"], each["raters"], each["alone"], each["estimate"]) for each in apart] == [
        ("depth", "human:ben", 8, None), ("tact", "human:anna", 7, None), ("warmth", "human:anna, human:ben", 10, None),
    ]  # fmt: skip
    assert {each["missing"] for each in apart} == {"no two people rated the same unit"}
    assert {record["metric"] for record in table.records} == {"empathy", "depth", "tact", "warmth"}
    # Who asks for some metrics or raters hears of these alone.
    (some,) = bedside.agree(path, scales="1-5", metrics=["empathy", "tact"])
    assert some.notes[0] == "No two people rated the same unit by: Tact (7 units, 1 person)."
    (shared,) = bedside.agree(path, scales="1-5", metrics="empathy")
    assert "No two people" not in shared.notes[0]


def test_what_people_rated_in_a_file_is_shown_without_a_scale_too(tmp_path: Path) -> None:
    """Before, a run said that "no unit was rated by two raters", or showed the metrics with a scale alone."""
    talks = [conversation(("clinician", "Hello."), ("patient", "Hi."), id=f"t{n}") for n in range(8)]
    run = bedside.score(talks, tmp_path / "run", metrics=["structure"]).run
    anna, ben, judge = [1, 2, 3, 4, 5, 4, 2, 1], [1, 2, 4, 4, 5, 5, 2, 2], [1, 2, 3, 4, 5, 5, 2, 1]
    sheet, rows = tmp_path / "sheet.csv", ["item,rater,metric,value"]
    for raters in ({"anna": anna, "ben": ben}, {"judge:m": judge}):
        rows += [f"t{n},{who},warmth,{level}" for who, levels in raters.items() for n, level in enumerate(levels)]
        sheet.write_text("\n".join(rows) + "\n")
        bedside.import_ratings(bedside.read_run(run.path), sheet)
        people = agree(open_ratings_view(run.path))[0]
        assert (people.metric, people.kind) == ("warmth", "people")
        expected = krippendorff.alpha([anna, ben], level_of_measurement="interval")
        assert estimate_of(people, "alpha") == pytest.approx(expected)
    (card,) = validate(open_ratings_view(run.path))
    assert [each.metric for each in card.validations] == ["warmth"]


def test_ids_of_two_spellings_are_named_where_nobody_shares_one(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text("item,rater,warmth\nA1,anna,1\nA2,anna,2\na1,ben,1\na2,ben,2\n")
    with pytest.raises(DataError, match="'A1' and 'a1'"):
        bedside.agree(path)


# -- units drawn with unequal chances, or that belong together by case -----------------------------------

#: Statistics that rest on sums over units, and so are those of units that stand there as often as they weigh.
OF_SUMS = ("kappa", "percent agreement", "ac", "fleiss", "spearman", "bias")
UNEQUAL: list[float | None] = [*[0.2] * 25, *[0.5] * 15]


def ratings(units: int, seed: int, raters: int = 3) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(seed)
    latent = rng.normal(size=(units, 1)) + 0.2 * rng.normal(size=(1, raters))
    return np.clip(np.round(3 + 1.2 * (latent + 0.6 * rng.normal(size=(units, raters)))), 1, 5)


def by_kind(view: RatingsView) -> dict[str, Agreement]:
    return {f"{a.kind} {a.between}": a for a in agree(view)}


@pytest.mark.slow
def test_weighted_statistics_are_those_of_units_that_stand_there_as_often_as_they_weigh() -> None:
    """A unit drawn with chance .2 stands for five, one drawn with chance .5 for two."""
    cells = ratings(40, 1, raters=4)
    repeated = cells[np.repeat(np.arange(40), [5] * 25 + [2] * 15)]
    weighed, everything, unweighted = (
        by_kind(drawn_view(own, drawn))
        for own, drawn in ((cells, UNEQUAL), (repeated, [1.0] * len(repeated)), (cells, [None] * 40))
    )
    assert weighed.keys() == everything.keys()
    for name, agreement in weighed.items():
        assert agreement.chances == "unequal"
        whole = everything[name]
        # What divides by the number of ratings less one differs in the order of one over it.
        near = dict.fromkeys(OF_SUMS, 1e-9) | dict.fromkeys(("alpha", "icc", "lower limit", "upper limit"), 0.03)
        for statistic in near.keys() & agreement.statistics.keys():
            expected = pytest.approx(estimate_of(whole, statistic), abs=near[statistic])
            assert estimate_of(agreement, statistic) == expected, (name, statistic)
        assert agreement.prevalence == pytest.approx(whole.prevalence)
        assert estimate_of(agreement, "kappa of rated units") == estimate_of(unweighted[name], "kappa")
    (note,) = [n for n in agreement_table(tuple(weighed.values())).notes if "unequal chances" in n]
    assert "unweighted, κ among people is ." in note


def test_transcripts_of_a_case_are_left_out_together() -> None:
    """Ten cases, each with ten transcripts that are alike: their interval is that of ten cases."""
    ten, order = ratings(10, 4), np.random.default_rng(3).permutation(100)
    cases = [f"c{unit // 10}" for unit in order]
    together = row_of(agree(drawn_view(np.repeat(ten, 10, axis=0)[order], [None] * 100, cases)))
    apart = row_of(agree(drawn_view(ten, [None] * 10)))
    assert (together.units, together.transcripts, together.cases) == (100, 100, 10)
    for statistic in ("kappa", "ac", "fleiss"):
        mine, theirs = (ends(row.statistics[statistic].interval) for row in (together, apart))
        assert mine == pytest.approx(theirs, abs=1e-9)
    assert has_note(agreement_table((together,)), "jackknife over cases")


def test_units_of_one_case_are_drawn_by_transcript() -> None:
    rows = [
        (f"t{unit // 3}", case, f"turn:{unit % 3}", f"human:{name}", float(value))
        for case in ("only", None)
        for unit, row in enumerate(ratings(30, 5))
        for name, value in zip("abc", row, strict=True)
    ]
    in_one, without = (
        row_of(agree(RatingsView(
            frame_of([rating(name, "s", case, "warmth", rater, value, unit=unit)
                      for name, own, unit, rater, value in rows if own == case]),
            SCALES, None, "the run",
        )))
        for case in ("only", None)
    )  # fmt: skip
    assert in_one.cases == 10
    assert in_one.statistics["kappa"] == without.statistics["kappa"]


@pytest.fixture(scope="module")
def stratified_run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Thirty cases of two systems, six of them crises; people rated six of each, and differ on most crises."""
    folder = tmp_path_factory.mktemp("strata")
    turn = [{"role": role, "text": "Well."} for role in ("clinician", "patient")]
    lines = [
        json.dumps({"id": f"{system}-{case}", "system": system, "case_id": f"c{case}", "turns": turn, "language": "en",
                    "factors": {"kind": "crisis" if case < 6 else "routine"}, "reference": {"goal": "sleep"}})
        for case in range(30) for system in "AB"
    ]  # fmt: skip
    (folder / "in.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    run = score([folder / "in.jsonl"], folder / "run", metrics=["structure"]).run
    plan = make_plan(
        run, mode="rate", rubrics=(EMPATHY,), raters=("anna", "ben"), by=("system", "kind"), per=5, seed=3,
        round="main",
    )  # fmt: skip

    def say(item: str, rater: str) -> dict[str, str]:
        case = int(plan.by_id[item].transcript[2:])
        apart = rater == "ben" and case % (2 if case < 6 else 7) == 0
        return {"empathy": str(1 + (case + apart) % 5)}

    keep_answers(run, plan, read_export(plan, exported(plan, say, USERS), RATERS, where="export").answers)
    return run


def test_strata_of_a_plan_count_as_much_as_they_are_large(stratified_run: Run) -> None:
    view = open_ratings_view(stratified_run.path)
    people = row_of(agree(view, metrics=["empathy"]))
    assert (people.chances, people.by, people.units) == ("unequal", ("system", "kind"), 20)
    wide = view.ratings.filter(metric="empathy").pivot("rater", index="transcript_id", values="value")
    cells: dict[tuple[str, bool], list[float]] = {}
    for name, a, b in wide.select("transcript_id", "human:anna", "human:ben").iter_rows():
        cells.setdefault((name[0], int(name[2:]) < 6), []).append(float(a == b))
    expected = sum((6 if crisis else 24) / 60 * np.mean(same) for (_, crisis), same in cells.items())
    assert {len(same) for same in cells.values()} == {5}
    assert estimate_of(people, "percent agreement") == pytest.approx(expected)
    assert expected != pytest.approx(np.mean([value for same in cells.values() for value in same]))
    crises = row_of(agree(open_ratings_view(stratified_run.path, where={"kind": ("crisis",)}), metrics=["empathy"]))
    assert (crises.chances, crises.units, crises.cases) == ("equal", 10, 5)


# -- Marked turns ---------------------------------------------------------------------------------------

#: Reasons of two people and a judge for each of four talks of six turns; None where one didn't rate it.
REASONS: dict[str, tuple[str | None, ...]] = {
    "human:anna": (
        "Evidence: turns 0, 1, 4.",
        "In turn 5. Evidence: turn 2.",
        "",
        "Evidence: turn 3; turn 4 “I see turn 0”.",
    ),
    "human:ben": ("Turn 5. Evidence: turns 1-2, 4.", "Evidence: turns 2, 99.", "turn 3", None),
    "judge:m": ("turn [0] to [1]", "see turn 2", "turns 1, 6-8", ""),
}
SPANS: dict[str, list[list[tuple[int, int]] | None]] = {
    "human:anna": [[(0, 2), (4, 1)], [(2, 1)], [], [(3, 2)]],
    "human:ben": [[(1, 2), (4, 1)], [(2, 1)], [], None],
    "judge:m": [[(0, 2)], [(2, 1)], [(1, 1)], []],
}


def marked_view(folder: Path, reasons: Mapping[str, Sequence[str | None]]) -> RatingsView:
    """Ratings with reasons, in a run of four talks of six turns."""
    folder.mkdir(exist_ok=True)
    turns = [{"role": role, "text": "I see you."} for role in ("clinician", "patient") * 3]
    talks = folder / "talks.jsonl"
    talks.write_text("".join(json.dumps({"id": f"t{n}", "turns": turns}) + "\n" for n in range(4)))
    bedside.score(talks, out=folder / "run", metrics=["turns"])
    rows = [
        {"item": f"t{n}", "rater": rater, "metric": "warmth", "value": 3, "reason": reason}
        for rater, own in reasons.items()
        for n, reason in enumerate(own)
        if reason is not None
    ]
    pl.DataFrame(rows).write_csv(folder / "warmth.csv")
    bedside.import_ratings(folder / "run", folder / "warmth.csv")
    return open_ratings_view(folder / "run")


def by_raters_of(agreements: Sequence[SpanAgreement]) -> dict[tuple[str, ...], SpanAgreement]:
    return {row.raters: row for row in agreements}


def test_turns_that_reasons_name_are_compared_as_spans(tmp_path: Path) -> None:
    rows = by_raters_of(marked_spans(marked_view(tmp_path, REASONS), seed=3))
    people, judge = ("human:anna", "human:ben"), "judge:m"
    assert set(rows) == {people, *((person, judge) for person in people)}
    for raters, row in rows.items():
        marks = list(map(list, zip(*(SPANS[rater] for rater in raters), strict=True)))
        expected = unitizing.unitized_alpha(marks, lengths=[6] * 4), unitizing.gamma(marks, lengths=[6] * 4, seed=3)
        assert (row.metric, row.alpha, row.gamma) == ("warmth", *expected)
    assert (rows[people].alpha.n, rows[people].alpha.dropped) == (3, 1)
    assert rows[people].named == {"human:anna": {"named": 6, "absent": 0, "reversed": 0},
                                  "human:ben": {"named": 5, "absent": 1, "reversed": 0}}  # fmt: skip
    assert rows["human:ben", judge].named[judge] == {"named": 7, "absent": 3, "reversed": 0}


@pytest.mark.parametrize(
    ("reason", "turns"),
    [
        ("turns 3, 4, and 7", [3, 4, 7]),
        ("turns 3 through 5; turn 8 to 9", [(3, 5), (8, 9)]),
        ("turns [3] – [5]", [(3, 5)]),
        ("Turns 5-3", [(5, 3)]),
        ("turns 3 & 7 or turns 1/2", [3, 7, 1, 2]),
        ("Turn #3, turn no. 5, turn(s) 4, turns: 6, 8", [3, 5, 4, 6, 8]),
        ("Turn 3 and turn 5 show it. Turns 0 and 2 are short.", [3, 5, 0, 2]),
        ("She turns 6 months sober; turns 3-5 minutes; turn 50 %", []),
        ("in turns 3, 5 and 12 mg", [3, 5]),
        ("turn 0.5 h, turn 12.5, turns 3rd, number of turns: 12", []),
        ("""turn 12: "at turn 4", “in turn 5”, ‘I don’t, turn 6’ or 'it's turn 7'""", [12]),
        ("the client's turn 3, the clients' turn 4", [3, 4]),
        (f"turn {'9' * 5000}", []),
    ],
)
def test_turns_are_read_from_what_a_judge_says(reason: str, turns: list[int | tuple[int, int]]) -> None:
    assert named_turns(reason) == [turn if isinstance(turn, tuple) else (turn, turn) for turn in turns]


COMMENTS = ("", "fine", "It was “bad", 'a "quote', "turn 9", "Evidence: turn 9.", "Evidence: turn 9 “",
            "“Evidence: turns 9, 8; turn 7 “", "She turns 6 months sober soon.", "it's\nEvidence: turns 9")  # fmt: skip


@pytest.mark.parametrize("comment", COMMENTS)
@pytest.mark.parametrize(
    "marks", [("3",), ("1", "2", "3: what"), ("4: a “turn 5” b", "6"), ("0: Evidence: turn 5.", "2: 'x, turn 7")]
)
def test_nothing_in_a_comment_adds_or_takes_turns_that_a_person_marked(comment: str, marks: tuple[str, ...]) -> None:
    turns = [first for first, _ in named_turns(reason_with_evidence(comment, marks), "human:anna")]
    assert sorted(turns) == sorted(map(marked_turn, marks))


@pytest.mark.parametrize(
    "comment", ["She turns 6 months sober soon", "No evidence; unlike turn 4", "Evidence: turns 6 months"]
)
def test_a_comment_without_evidence_marks_no_turn(tmp_path: Path, comment: str) -> None:
    assert named_turns(comment, "human:anna") == []
    view = marked_view(tmp_path, {**REASONS, "human:anna": (comment,) * 4})
    assert {row.raters for row in marked_spans(view)} == {("human:ben",), ("human:ben", "judge:m")}


def test_what_marked_turns_rest_on_stands_beside_them(tmp_path: Path) -> None:
    marked_view(tmp_path, {**REASONS, "judge:m": ("turns 3-1", "", "turn 70", "")})
    table = bedside.agree(tmp_path / "run")["spans"]
    said = [note for note in table.notes if isinstance(note, NoteText) and note.warns]
    assert {note.id for note in said} == {"spans.named"}
    assert [word for note in said for word in re.findall(r"\d+", note)] == ["2", "15", "1"]
    marked_view(tmp_path / "one", {**REASONS, "human:ben": ("", "", "", "fine")})
    alone = bedside.agree(tmp_path / "one" / "run")["spans"]
    assert alone.records[0]["missing"] in "".join(note for note in alone.notes if getattr(note, "warns", False))


def test_who_never_marks_a_turn_is_no_rater_of_turns(tmp_path: Path) -> None:
    view = marked_view(tmp_path, {**REASONS, "human:ben": ("", "", "", "fine")})
    alone, beside_judge = marked_spans(view)
    assert (alone.raters, alone.alpha.estimate, alone.alpha.dropped) == (("human:anna",), None, 4)
    assert alone.alpha.missing
    assert beside_judge.raters == ("human:anna", "judge:m")
    assert not marked_spans(
        marked_view(tmp_path / "none", {"judge:m": REASONS["judge:m"], "human:ben": ("", "", "", "")})
    )


def test_marked_turns_of_a_file_alone_say_why_they_are_not_compared(tmp_path: Path) -> None:
    marked_view(tmp_path, REASONS)
    (row,) = marked_spans(open_ratings_view(tmp_path / "warmth.csv"))
    assert (row.raters, row.alpha.estimate, row.alpha.dropped) == (("human:anna", "human:ben"), None, 4)
    assert row.alpha.missing


def test_agree_shows_marked_turns_in_a_table_of_their_own(tmp_path: Path) -> None:
    marked_view(tmp_path, REASONS)
    tables = bedside.agree(tmp_path / "run")
    records = tables["spans"].records
    people = marked_spans(open_ratings_view(tmp_path / "run"))[0]
    first = records[0]
    assert (first["unitized_alpha"], first["gamma"]) == (people.alpha.estimate, people.gamma.estimate)
    assert column(tables["spans"], "Units") == ["3 of 4", "4", "3 of 4"]

"""Agreement on runs and files, against other implementations and known figures."""

from __future__ import annotations

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
from bedside.analysis.agreement import Agreement, agree
from bedside.analysis.agreement_statistics import STATISTICS
from bedside.analysis.ratings_view import RatingsView, open_ratings_view
from bedside.analysis.validation import validate
from bedside.core.errors import DataError
from bedside.ratings.scales import parse_scales
from bedside.ratings.table import frame_of
from bedside.reports.tables.agreement import (
    COLUMNS,
    AgreementOptions,
    StatisticColumn,
    agreement_table,
    agreements_of,
)
from bedside.scoring.score import score
from bedside.transcripts.transcript import Transcript, Turn
from tests.reference import statistics as published

EXAMPLES = Path(bedside.__file__).parent / "examples"


def find(found: tuple[Agreement, ...], title: str, between: str = "people") -> Agreement:
    return next(a for a in found if a.title == title and a.between == between)


@pytest.fixture(scope="module")
def annomi_run(annomi: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("annomi") / "run"
    score([annomi], path, metrics=["behaviour"])
    return path


@pytest.mark.slow
def test_annomi_equals_other_implementations_on_the_file_itself(annomi: Path, annomi_run: Path) -> None:
    """Codes taken from the CSV with nothing of bedside in between."""
    rows = pl.read_csv(annomi, infer_schema=False, null_values=[]).filter(
        pl.col("transcript_id").is_in(["7", "27", "56", "66"])
    )
    found = agree(open_ratings_view(annomi_run))
    for title, column in (
        ("Main behaviour", "main_therapist_behaviour"),
        ("Client talk", "client_talk_type"),
    ):
        wide = rows.filter(pl.col(column) != "n/a").pivot(
            "annotator_id", index=["transcript_id", "utterance_id"], values=column, sort_columns=True
        )
        cells = wide.drop("transcript_id", "utterance_id").to_numpy()
        assert cells.shape[1] == 10
        labels = sorted(set(cells.ravel()))
        codes = np.vectorize(labels.index)(cells)
        mine = find(found, title)
        assert mine.units == len(cells)
        assert len(mine.raters) == 10
        counts = np.stack([(codes == k).sum(axis=1) for k in range(len(labels))], axis=1)
        assert mine.statistics["fleiss"].estimate == pytest.approx(
            fleiss_kappa(counts, method="fleiss"), abs=1e-12
        )
        alpha = krippendorff.alpha(codes.T.astype(float), level_of_measurement="nominal")
        assert mine.statistics["alpha"].estimate == pytest.approx(alpha, abs=1e-12)
        pairs = [cohen_kappa_score(codes[:, i], codes[:, j]) for i, j in combinations(range(10), 2)]
        assert mine.statistics["kappa"].estimate == pytest.approx(np.mean(pairs), abs=1e-12)
        same = [(codes[:, i] == codes[:, j]).mean() for i, j in combinations(range(10), 2)]
        assert mine.statistics["percent agreement"].estimate == pytest.approx(np.mean(same), abs=1e-12)


@pytest.mark.slow
def test_annomi_four_sessions_lie_near_the_published_seven(annomi_run: Path) -> None:
    """Wu et al. (2022) give Fleiss' kappa .74 for main behaviour and .47 for client talk on all seven sessions."""
    found = agree(open_ratings_view(annomi_run), metrics=["main_behaviour", "client_talk"])
    assert find(found, "Main behaviour").statistics["fleiss"].estimate == pytest.approx(0.74, abs=0.05)
    assert find(found, "Client talk").statistics["fleiss"].estimate == pytest.approx(0.47, abs=0.1)


def test_turns_that_one_person_coded_are_counted_not_compared(annomi: Path, annomi_run: Path) -> None:
    rows = pl.read_csv(annomi, infer_schema=False).filter(pl.col("interlocutor") == "therapist")
    per_turn = rows.group_by("transcript_id", "utterance_id").len()
    found = find(agree(open_ratings_view(annomi_run), metrics=["question"]), "Question")
    assert found.alone == per_turn.filter(pl.col("len") == 1).height
    assert found.units == per_turn.filter(pl.col("len") == 10).height
    assert found.transcripts == 4


@pytest.fixture(scope="module")
def example_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("example") / "run"
    score([EXAMPLES / "transcripts.jsonl"], path, metrics=["behaviour"])
    return path


def test_an_algorithm_stands_beside_people_as_the_mean_over_persons(example_run: Path) -> None:
    ratings = bedside.read_run(example_run).ratings.filter(pl.col("metric") == "question")
    wide = ratings.pivot("rater", index=["transcript_id", "unit"], values="label")
    rules = next(name for name in wide.columns if name.startswith("algorithm:"))
    expected = np.mean([cohen_kappa_score(wide[rules], wide[f"human:{who}"]) for who in ("anna", "ben")])
    agreed = np.mean([(wide[rules] == wide[f"human:{who}"]).mean() for who in ("anna", "ben")])
    found = find(agree(open_ratings_view(example_run)), "Question", f"{rules} and people")
    assert found.statistics["kappa"].estimate == pytest.approx(expected, abs=1e-12)
    assert found.statistics["percent agreement"].estimate == pytest.approx(agreed, abs=1e-12)
    assert found.raters[-1] == rules


def test_ordered_scales_are_weighted_by_the_whole_scale(tmp_path: Path) -> None:
    view = open_ratings_view(EXAMPLES / "ratings.csv", scales=parse_scales(["1-5"]))
    wide = view.ratings.filter(metric="partnership").pivot("rater", index="transcript_id", values="value")
    both = wide.drop_nulls()
    found = agree(view, metrics=["partnership"])[0]
    assert (found.level, found.units, found.alone) == ("ordinal", 11, 1)
    for weights in ("quadratic", "linear", "none"):
        expected = cohen_kappa_score(
            both["human:anna"].cast(int), both["human:ben"].cast(int), labels=[1, 2, 3, 4, 5],
            weights=None if weights == "none" else weights,
        )  # fmt: skip
        mine = agree(view, metrics=["partnership"], weights=weights)[0]  # type: ignore[arg-type]
        assert mine.statistics["kappa"].estimate == pytest.approx(expected, abs=1e-12)
    alpha = krippendorff.alpha(
        wide.drop("transcript_id").to_numpy().T, level_of_measurement="ordinal", value_domain=[1, 2, 3, 4, 5]
    )
    assert found.statistics["alpha"].estimate == pytest.approx(alpha, abs=1e-12)


def test_numbers_off_any_scale_get_interval_alpha(tmp_path: Path) -> None:
    path = tmp_path / "seconds.csv"
    path.write_text("item,rater 1,rater 2\nx,1.5,1.7\ny,2.5,2.4\nz,9.1,8.8\n")
    found = agree(open_ratings_view(path))[0]
    assert found.level == "interval"
    assert list(found.statistics) == ["alpha", "icc", "spearman", "mae"]
    expected = krippendorff.alpha([[1.5, 2.5, 9.1], [1.7, 2.4, 8.8]], level_of_measurement="interval")
    assert found.statistics["alpha"].estimate == pytest.approx(expected, abs=1e-12)


def test_raters_can_be_chosen(example_run: Path) -> None:
    found = agree(open_ratings_view(example_run), metrics=["question"], raters=["human:*"])
    assert {a.between for a in found} == {"people"}
    with pytest.raises(DataError, match="no two raters rated the same conversation or turn"):
        agree(open_ratings_view(example_run), metrics=["question"], raters=["human:anna"])


def test_constant_ratings_are_undefined_not_perfect(tmp_path: Path) -> None:
    path = tmp_path / "flat.csv"
    path.write_text("item,rater 1,rater 2\nx,3,3\ny,3,3\nz,3,3\n")
    found = agree(open_ratings_view(path, scales=parse_scales(["1-5"])))[0]
    assert found.statistics["kappa"].estimate is None
    assert found.statistics["kappa"].missing
    assert found.statistics["percent agreement"].estimate == 1.0


def judged(tmp_path: Path, columns: dict[str, list[float | None]]) -> Path:
    """A wide file: one column a rater, ten items."""
    path = tmp_path / "judged.csv"
    names = list(columns)
    rows = zip(*columns.values(), strict=True)
    lines = [",".join(["item", *names])]
    lines += [
        ",".join([f"i{n}", *("" if v is None else f"{v:g}" for v in row)]) for n, row in enumerate(rows)
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


ANNA = [1, 2, 3, 4, 5, 5, 4, 3, 2, 1]
BEN = [1, 2, 3, 5, 5, 4, 4, 3, 1, 1]
CLEO = [2, 2, 3, 4, 5, 4, 3, 3, 2, 1]
JUDGE = [2, 3, 3, 4, 5, 5, 5, 3, 3, 1]
RATERS = {"anna": ANNA, "ben": BEN, "cleo": CLEO, "judge:m": JUDGE}


def weighted(a: list[int], b: list[int]) -> float:
    return float(cohen_kappa_score(a, b, labels=[1, 2, 3, 4, 5], weights="quadratic"))


def test_a_judge_stands_beside_each_person_the_consensus_and_the_ceiling(tmp_path: Path) -> None:
    found = agree(open_ratings_view(judged(tmp_path, RATERS), scales=parse_scales(["1-5"])))
    rows = {(a.kind, a.raters[0]): a for a in found}
    people = [ANNA, BEN, CLEO]
    each = [weighted(person, JUDGE) for person in people]
    for name, expected in zip(("anna", "ben", "cleo"), each, strict=True):
        mine = rows["person", f"human:{name}"].statistics["kappa"]
        assert mine.estimate == pytest.approx(expected, abs=1e-12)
    assert rows["mean", "human:anna"].statistics["kappa"].estimate == pytest.approx(np.mean(each), abs=1e-12)
    median = [int(np.median(row)) for row in zip(*people, strict=True)]
    consensus = rows["consensus", "human:anna"]
    assert consensus.statistics["kappa"].estimate == pytest.approx(weighted(median, JUDGE), abs=1e-12)
    assert consensus.ties == 0
    assert consensus.confusion["2", "3"] == sum(m == 2 and j == 3 for m, j in zip(median, JUDGE, strict=True))
    assert consensus.statistics["bias"].estimate == pytest.approx(np.mean(JUDGE) - np.mean(median))
    # One person against the median of the two others, where they agree.
    ceiling = []
    for who in range(3):
        rest = [person for position, person in enumerate(people) if position != who]
        both = [(people[who][i], rest[0][i]) for i in range(10) if rest[0][i] == rest[1][i]]
        ceiling.append(weighted([a for a, _ in both], [b for _, b in both]))
    mine = next(a for a in found if a.kind == "ceiling")
    assert mine.statistics["kappa"].estimate == pytest.approx(np.mean(ceiling), abs=1e-12)
    assert mine.ties == sum(a != b for x, y in combinations(people, 2) for a, b in zip(x, y, strict=True))


@pytest.mark.slow
def test_two_raters_equal_pingouin_and_scipy(tmp_path: Path) -> None:
    import pingouin
    import scipy.stats

    found = agree(open_ratings_view(judged(tmp_path, RATERS), scales=parse_scales(["1-5"])))
    row = next(a for a in found if a.kind == "person" and a.raters[0] == "human:ben").statistics
    long = [(i, name, value) for name, values in (("b", BEN), ("j", JUDGE)) for i, value in enumerate(values)]
    table = pl.DataFrame(long, schema=["item", "rater", "value"], orient="row").to_pandas()
    icc = pingouin.intraclass_corr(table, targets="item", raters="rater", ratings="value").set_index("Type")[
        "ICC"
    ]
    single = next(value for name, value in icc.items() if str(name).replace(" ", "") in ("ICC2", "ICC(A,1)"))
    assert row["icc"].estimate == pytest.approx(single, abs=1e-9)
    assert row["spearman"].estimate == pytest.approx(scipy.stats.spearmanr(BEN, JUDGE).statistic)
    assert row["mae"].estimate == pytest.approx(np.mean(np.abs(np.array(BEN) - JUDGE)))


def test_every_statistic_has_an_interval(tmp_path: Path) -> None:
    for agreement in agree(open_ratings_view(judged(tmp_path, RATERS), scales=parse_scales(["1-5"]))):
        for name, result in agreement.statistics.items():
            assert result.interval is not None, (agreement.between, name)
            assert result.interval.low <= result.estimate <= result.interval.high  # type: ignore[operator]


def test_passes_of_a_judge_count_as_their_most_frequent_value(tmp_path: Path) -> None:
    path = tmp_path / "passes.csv"
    rows = ["item,rater,value,replicate"]
    for item, passes in (("x", (1, 5, 5)), ("y", (2, 3, 5)), ("z", (4, 4, 1)), ("w", (1, 2, 5))):
        rows += [f"{item},judge:m,{value},{n}" for n, value in enumerate(passes)]
    rows += [f"{item},anna,{value}," for item, value in (("x", 5), ("y", 3), ("z", 4), ("w", 2))]
    path.write_text("\n".join(rows) + "\n")
    found = agree(open_ratings_view(path, scales=parse_scales(["1-5"])))
    # y: 2, 3 and 5 are equally frequent and 3 is nearest their mean; w: 2 is.
    assert found[0].statistics["percent agreement"].estimate == 1.0


def test_passes_that_differ_move_a_judge_to_neither_side(tmp_path: Path) -> None:
    """Two passes a unit, off by a level: taking the lower made a judge that is right on the whole too low."""
    rng = np.random.default_rng(4)
    rows = ["item,rater,metric,value,replicate"]
    for n in range(400):
        level, coin = int(rng.integers(2, 5)), rng.random(2)
        rows += [f"{n},anna,level,{level},", f"{n},anna,word,{'yes' if level > 2 else 'no'},"]
        for number in range(2):
            guess = level + (-1 if coin[number] < 0.25 else 1 if coin[number] > 0.75 else 0)
            says = (level > 2) != (coin[number] < 0.2)
            rows += [
                f"{n},judge:m,level,{guess},{number}",
                f"{n},judge:m,word,{'yes' if says else 'no'},{number}",
            ]
    path = tmp_path / "passes.csv"
    path.write_text("\n".join(rows) + "\n")
    found = {
        a.metric: a.statistics
        for a in agree(open_ratings_view(path, scales=parse_scales(["level=1-5", "word=no/yes"])))
        if len(a.raters) == 2
    }
    assert abs(found["level"]["bias"].estimate or 0) < 0.1
    assert found["word"]["percent agreement"].estimate == pytest.approx(0.8, abs=0.06), "no unit is left out"


def test_ties_of_people_are_counted_not_settled(tmp_path: Path) -> None:
    path = tmp_path / "codes.csv"
    path.write_text(
        "item,anna,ben,algorithm:x@1\na,open,open,open\nb,open,closed,open\nc,closed,closed,closed\nd,open,open,closed\n"
    )
    found = agree(open_ratings_view(path))
    consensus = next(a for a in found if a.kind == "consensus")
    assert (consensus.units, consensus.ties) == (3, 1)
    assert consensus.statistics["percent agreement"].estimate == pytest.approx(2 / 3)


def test_a_tie_on_what_the_rater_has_no_rating_of_is_not_left_out_of_its_row(tmp_path: Path) -> None:
    path = tmp_path / "codes.csv"
    path.write_text(
        "item,anna,ben,algorithm:x@1\na,open,open,open\nb,open,closed,open\nc,closed,closed,closed\n"
        "d,open,closed,\ne,,,open\n"
    )
    consensus = next(a for a in agree(open_ratings_view(path)) if a.kind == "consensus")
    assert (consensus.units, consensus.ties, consensus.alone) == (2, 1, 1)


def test_a_statistic_is_computed_where_it_applies_and_nowhere_else(tmp_path: Path) -> None:
    agreements = agree(open_ratings_view(judged(tmp_path, RATERS), scales=parse_scales(["1-5"])))
    for agreement in agreements:
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
    assert len({statistic.name for statistic in STATISTICS}) == len(STATISTICS)


def test_columns_of_the_table_are_of_statistics_there_are() -> None:
    columns = [column for column in COLUMNS if isinstance(column, StatisticColumn)]
    assert {column.statistic for column in columns} <= {statistic.name for statistic in STATISTICS}
    assert len({column.title for column in COLUMNS}) == len(COLUMNS)


def test_agreements_are_computed_once_for_a_view(example_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from bedside.reports.tables import agreement

    calls: list[RatingsView] = []

    def counted(view: RatingsView, **options: Any) -> tuple[Agreement, ...]:
        calls.append(view)
        return agree(view, **options)

    monkeypatch.setattr(agreement, "agree", counted)
    view, options = open_ratings_view(example_run), AgreementOptions()
    shown = agreements_of(view, options, 0)
    assert agreements_of(view, options, 0) is shown
    assert len(calls) == 1
    agreements_of(view, options, 1)
    # The same ratings in another view are other ratings, as far as anybody knows.
    agreements_of(replace(view, ratings=view.ratings.head(0)), options, 0)
    assert len(calls) == 3


def wide_file(path: Path, columns: dict[str, list[Any]]) -> Path:
    """A file with a column for each rater; None where there is no rating."""
    rows = zip(*columns.values(), strict=True)
    lines = [",".join(["item", "metric", *columns])]
    lines += [
        ",".join([f"i{n}", "rating", *("" if v is None else str(v) for v in row)])
        for n, row in enumerate(rows)
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_units_rated_once_count_for_the_shares_of_levels_in_ac(tmp_path: Path) -> None:
    """R's irrCAC, gwet.ac1.raw(cac.raw4raters), where one observer alone rated the last unit: AC1 .77544."""
    observers = zip(*published.as_items(published.KRIPPENDORFF_C), strict=True)
    path = wide_file(tmp_path / "four.csv", {f"r{n}": list(ratings) for n, ratings in enumerate(observers)})
    view = open_ratings_view(path, scales=parse_scales(["1-5"]))
    (people,) = (a for a in agree(view, weights="none") if a.kind == "people")
    assert people.statistics["ac"].estimate == pytest.approx(0.77544, abs=5e-6)
    assert (people.units, people.alone, people.statistics["ac"].n) == (11, 1, 12)


def test_each_statistic_shows_the_units_it_rests_on(tmp_path: Path) -> None:
    """Of 200 units two of three people rated each, and all three rated 12."""
    rng = np.random.default_rng(0)
    ratings = np.clip(rng.integers(1, 6, (200, 1)) + rng.integers(-1, 2, (200, 3)), 1, 5).astype(object)
    ratings[np.arange(12, 200), rng.integers(0, 3, 188)] = None
    path = wide_file(
        tmp_path / "partly.csv", {name: list(ratings[:, n]) for n, name in enumerate(("a", "b", "c"))}
    )
    agreements = agree(open_ratings_view(path, scales=parse_scales(["1-5"])))
    (people,) = (a for a in agreements if a.kind == "people")
    by_all = [str(result.n) for result in (people.statistics["icc"], people.statistics["fleiss"])]
    assert (people.units, by_all) == (200, ["12", "12"])
    table = agreement_table(agreements)
    titles = [column.title for column in table.columns]
    cells = {title: cell.text for title, cell in zip(titles, table.rows[0].cells, strict=True)}
    assert cells["Units"] == "200"
    assert cells["ICC"].endswith(" (n 12 of 200)")
    assert cells["Fleiss κ"].endswith(" (n 12 of 200)")
    assert "n" not in cells["κ [95 % CI]"]
    records = {r["statistic"]: r["n"] for r in table.records if r["kind"] == "people"}
    assert (records["icc"], records["kappa"]) == (12, 200)


def test_a_constant_rater_is_named_and_kappa_is_shown_without(tmp_path: Path) -> None:
    columns: dict[str, list[Any]] = {**RATERS, "dora": [3] * 10}  # type: ignore[dict-item]
    agreements = agree(
        open_ratings_view(wide_file(tmp_path / "c.csv", columns), scales=parse_scales(["1-5"]))
    )
    (people,) = (a for a in agreements if a.kind == "people")
    pairs = [weighted(a, b) for a, b in combinations((ANNA, BEN, CLEO), 2)]
    assert people.constant == {"human:dora": "3"}
    assert people.statistics["kappa"].estimate == pytest.approx(sum(pairs) / 6)
    assert people.statistics["kappa without constant raters"].estimate == pytest.approx(np.mean(pairs))
    (note,) = (n for n in agreement_table(agreements).notes if n.startswith("Rating, people: κ with a rater"))
    assert "(dora only 3) is 0" in note
    assert f"of the other pairs κ is {np.mean(pairs):.2f}".replace("0.", ".") in note


@pytest.mark.slow
def test_alpha_and_icc_come_in_the_form_that_is_asked(tmp_path: Path) -> None:
    import pingouin

    view = open_ratings_view(judged(tmp_path, RATERS), scales=parse_scales(["1-5"]))
    cells = np.array([ANNA, BEN, CLEO], dtype=float)
    for metric in ("nominal", "ordinal", "interval"):
        (people,) = (a for a in agree(view, alpha=metric, raters=["human:*"]) if a.kind == "people")  # type: ignore[arg-type]
        expected = krippendorff.alpha(cells, level_of_measurement=metric)
        assert people.statistics["alpha"].estimate == pytest.approx(expected, abs=1e-12)
    long = [(i, rater, value) for rater, row in enumerate(cells) for i, value in enumerate(row)]
    table = pl.DataFrame(long, schema=["item", "rater", "value"], orient="row").to_pandas()
    theirs = pingouin.intraclass_corr(table, targets="item", raters="rater", ratings="value")["ICC"]
    # In the order of Shrout and Fleiss: of one rater, then of the mean of all.
    for form, expected in zip(("1,1", "2,1", "3,1", "1,k", "2,k", "3,k"), theirs, strict=True):
        agreements = agree(view, icc=form, raters=["human:*"])  # type: ignore[arg-type]
        assert agreements[0].statistics["icc"].estimate == pytest.approx(expected, abs=1e-9)
        assert any(note.startswith(f"ICC: ICC({form}), ") for note in agreement_table(agreements).notes)
    with pytest.raises(DataError, match=r"`icc`: there is no form '4,1'; did you mean"):
        agree(view, icc="4,1")  # type: ignore[arg-type]
    with pytest.raises(DataError, match=r"`alpha`: there is no form 'ratio'"):
        agree(view, alpha="ratio")  # type: ignore[arg-type]


def test_labels_have_a_nominal_alpha_whatever_is_asked(tmp_path: Path) -> None:
    columns = {"anna": ["open", "open", "closed", "none"], "ben": ["open", "closed", "closed", "none"]}
    view = open_ratings_view(wide_file(tmp_path / "labels.csv", columns))
    asked, usual = (agree(view, **form)[0].statistics["alpha"] for form in ({"alpha": "interval"}, {}))  # type: ignore[arg-type]
    assert asked == usual


def test_limits_of_agreement_have_intervals_in_the_table(tmp_path: Path) -> None:
    """Bland and Altman (1986), the two peak flow meters: limits −78.10 and 73.86."""
    columns: dict[str, list[Any]] = {"wright": published.MINI_WRIGHT, "judge:mini": published.WRIGHT}
    agreements = agree(open_ratings_view(wide_file(tmp_path / "flow.csv", columns)))
    (row,) = (a for a in agreements if a.kind == "mean")
    lower, upper = row.statistics["lower limit"], row.statistics["upper limit"]
    assert (lower.estimate, upper.estimate) == (
        pytest.approx(-78.0973, abs=5e-5),
        pytest.approx(73.8620, abs=5e-5),
    )
    # Their standard error of a limit, √3 s / √n in short, with t of 16 degrees of freedom: about ± 34.
    assert lower.interval is not None
    assert upper.interval is not None
    for limit, interval in ((lower.estimate, lower.interval), (upper.estimate, upper.interval)):
        assert limit is not None
        half = 2.1199 * 38.7651299 * np.sqrt(1 / 17 + 1.96**2 / 32)
        assert (interval.low, interval.high) == pytest.approx((limit - half, limit + half), abs=1e-3)
    titles = [column.title for column in agreement_table(agreements).columns]
    assert "Lower limit [95 % CI]" in titles
    assert "Upper limit [95 % CI]" in titles


def test_the_consensus_of_two_people_comes_last_and_says_its_share(tmp_path: Path) -> None:
    table = agreement_table(
        agree(
            open_ratings_view(
                judged(tmp_path, {"anna": ANNA, "ben": BEN, "judge:m": JUDGE}), scales=parse_scales(["1-5"])
            )
        )
    )
    headings = [heading for heading, _ in table.groups()]
    assert headings == [
        "People among themselves",
        "m and each person, mean",
        "m and anna",
        "m and ben",
        "m and the consensus of people",
    ]
    same = sum(a == b for a, b in zip(ANNA, BEN, strict=True))
    units = next(place for place, column in enumerate(table.columns) if column.title == "Units")
    assert table.rows[-1].cells[units].text == f"{same} of 10"
    assert any(note.startswith("The consensus of two people is what both say") for note in table.notes)


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
    rows, drawn = [], []
    for n, (a, b) in enumerate(zip(ANNA, BEN, strict=True)):
        for rater, value in (("human:anna", a), ("human:ben", b)):
            rows.append(
                (f"t{n}", "s", f"c{n}", "transcript", "warmth", rater, 0, float(value), None, None, None)
            )
            drawn.append(chances[n % 2])
    scale = parse_scales(["1-5"])[None]
    view = RatingsView(frame_of(rows, "main", drawn), {"warmth": scale}, None, "the run")
    notes = [note for note in agreement_table(agree(view)).notes if note.startswith("Warmth: ")]
    assert bool(notes) == (words is not None)
    assert all(str(words) in note for note in notes)


def test_units_that_were_picked_are_left_out_where_others_were_drawn() -> None:
    """Those that raters differ on, say: of them nothing follows for the others."""
    rows, drawn = [], []
    for n, (a, b) in enumerate(zip(ANNA, BEN, strict=True)):
        for rater, value in (("human:anna", a), ("human:ben", b)):
            rows.append(
                (f"t{n}", "s", f"c{n}", "transcript", "warmth", rater, 0, float(value), None, None, None)
            )
            drawn.append(0.0 if a != b else 0.5)
    view = RatingsView(
        frame_of(rows, "main", drawn), {"warmth": parse_scales(["1-5"])[None]}, None, "the run"
    )
    (people,) = agree(view)
    same = sum(a == b for a, b in zip(ANNA, BEN, strict=True))
    assert (people.units, people.picked, people.chances) == (same, 10 - same, "equal")
    assert any("picked for what they are" in note for note in agreement_table((people,)).notes)


def test_ordered_scales_have_a_weighted_fleiss_kappa(tmp_path: Path) -> None:
    view = open_ratings_view(judged(tmp_path, RATERS), scales=parse_scales(["1-5"]))
    (people,) = (a for a in agree(view, weights="linear", raters=["human:*"]) if a.kind == "people")
    rows = list(zip(ANNA, BEN, CLEO, strict=True))
    every = [value for row in rows for value in row]
    observed = np.mean([abs(a - b) for row in rows for a, b in combinations(row, 2)])
    chance = np.mean([abs(a - b) for a in every for b in every])
    assert people.statistics["fleiss"].estimate == pytest.approx(1 - observed / chance, abs=1e-12)


def test_the_interval_of_numbers_on_turns_leaves_out_whole_transcripts() -> None:
    """Turns of a transcript repeat each other: ten transcripts, each with one difference, are ten differences."""
    rng = np.random.default_rng(1)
    effects = rng.normal(size=10)
    rows = []
    for transcript in range(10):
        for turn in range(20):
            truth = rng.normal()
            for rater, value in (("human:a", truth), ("judge:m", truth + effects[transcript])):
                unit = f"turn:{turn}"
                rows.append(
                    (f"t{transcript}", "s", None, unit, "length", rater, 0, float(value), None, None, None)
                )
    view = RatingsView(frame_of(rows), {}, None, "the run")
    (row,) = (a for a in agree(view) if a.kind == "mean")
    by_transcript = scipy.stats.ttest_1samp(effects, 0).confidence_interval()
    bias = row.statistics["bias"].interval
    assert bias is not None
    assert (bias.low, bias.high) == pytest.approx((by_transcript.low, by_transcript.high), abs=1e-9)
    for name in ("lower limit", "upper limit"):
        interval = row.statistics[name].interval
        assert interval is not None
        # The 200 turns taken as independent would have it about four times as narrow.
        assert interval.high - interval.low > 0.7 * (by_transcript.high - by_transcript.low)
    assert row.statistics["spearman"].interval is None
    assert "not independent" in (row.statistics["spearman"].missing or "")


def test_labels_in_order_are_weighted_by_their_order(tmp_path: Path) -> None:
    """As the numbers of their places, but for what needs distances."""
    names = {1: "none", 2: "mild", 3: "fair", 4: "severe", 5: "worst"}
    labels = {rater: [names[level] for level in levels] for rater, levels in RATERS.items()}
    path = wide_file(tmp_path / "labels.csv", labels)
    ordered = agree(open_ratings_view(path, scales=parse_scales(["none<mild<fair<severe<worst"])))
    ordered = tuple(a for a in ordered if not a.title.endswith(": any or none"))
    numbers = agree(open_ratings_view(judged(tmp_path, RATERS), scales=parse_scales(["1-5"])))
    assert [(a.kind, a.between, a.units, a.ties) for a in ordered] == [
        (a.kind, a.between, a.units, a.ties) for a in numbers
    ]
    for mine, same in zip(ordered, numbers, strict=True):
        assert mine.level == "ordinal"
        for name, result in mine.statistics.items():
            assert result.estimate == pytest.approx(same.statistics[name].estimate, abs=1e-12), (
                mine.kind,
                name,
            )
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
    assert table.notes[0] == (
        "No two people rated the same unit by: Depth (8 units, 1 person), Tact (7 units, 1 person), "
        "Warmth (10 units, 2 people)."
    )
    apart = [record for record in table.records if record["kind"] == "people" and not record["units"]]
    assert [(each["metric"], each["raters"], each["alone"], each["estimate"]) for each in apart] == [
        ("depth", "human:ben", 8, None),
        ("tact", "human:anna", 7, None),
        ("warmth", "human:anna, human:ben", 10, None),
    ]
    assert {each["missing"] for each in apart} == {"no two people rated the same unit"}
    assert {record["metric"] for record in table.records} == {"empathy", "depth", "tact", "warmth"}
    # Who asks for some metrics or raters hears of these alone.
    (some,) = bedside.agree(path, scales="1-5", metrics=["empathy", "tact"])
    assert some.notes[0] == "No two people rated the same unit by: Tact (7 units, 1 person)."
    (shared,) = bedside.agree(path, scales="1-5", metrics="empathy")
    assert "No two people" not in shared.notes[0]


def test_what_people_rated_in_a_file_is_shown_without_a_scale_too(tmp_path: Path) -> None:
    """Before, a run said that "no unit was rated by two raters", or showed the metrics with a scale alone."""
    talks = [
        Transcript(id=f"t{n}", turns=(Turn(0, "clinician", "A", "Hello."), Turn(1, "patient", "B", "Hi.")))
        for n in range(8)
    ]
    run = bedside.score(talks, tmp_path / "run", metrics=["structure"]).run
    anna, ben = [1, 2, 3, 4, 5, 4, 2, 1], [1, 2, 4, 4, 5, 5, 2, 2]
    sheet = tmp_path / "sheet.csv"
    rows = [f"t{n},{who},warmth,{said[n]}" for who, said in (("anna", anna), ("ben", ben)) for n in range(8)]
    sheet.write_text("\n".join(["item,rater,metric,value", *rows]) + "\n")
    bedside.import_ratings(run, sheet)
    (found,) = agree(open_ratings_view(run.path))
    assert (found.metric, found.kind, found.statistics["alpha"].estimate) == (
        "warmth",
        "people",
        pytest.approx(krippendorff.alpha([anna, ben], level_of_measurement="interval")),
    )
    rows += [f"t{n},judge:m,warmth,{level}" for n, level in enumerate([1, 2, 3, 4, 5, 5, 2, 1])]
    sheet.write_text("\n".join(["item,rater,metric,value", *rows]) + "\n")
    bedside.import_ratings(bedside.read_run(run.path), sheet)
    (card,) = validate(open_ratings_view(run.path))
    assert [each.metric for each in card.validations] == ["warmth"]


def test_ids_of_two_spellings_are_named_where_nobody_shares_one(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text("item,rater,warmth\nA1,anna,1\nA2,anna,2\na1,ben,1\na2,ben,2\n")
    with pytest.raises(DataError, match="same conversation or turn; 'A1' and 'a1' may be one"):
        bedside.agree(path)

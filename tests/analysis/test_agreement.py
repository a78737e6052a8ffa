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
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.inter_rater import fleiss_kappa

import bedside
from bedside.analysis.agreement import Agreement, agree
from bedside.analysis.agreement_statistics import STATISTICS
from bedside.analysis.ratings_view import RatingsView, open_ratings_view
from bedside.ratings.scales import parse_scales
from bedside.reports.tables.agreement import COLUMNS, AgreementOptions, StatisticColumn, agreements_of
from bedside.scoring.score import score
from bedside.support.errors import DataError

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
    path.write_text("item,a,b\nx,1.5,1.7\ny,2.5,2.4\nz,9.1,8.8\n")
    found = agree(open_ratings_view(path))[0]
    assert found.level == "interval"
    assert list(found.statistics) == ["alpha", "icc", "spearman", "mae"]
    expected = krippendorff.alpha([[1.5, 2.5, 9.1], [1.7, 2.4, 8.8]], level_of_measurement="interval")
    assert found.statistics["alpha"].estimate == pytest.approx(expected, abs=1e-12)


def test_raters_can_be_chosen(example_run: Path) -> None:
    found = agree(open_ratings_view(example_run), metrics=["question"], raters=["human:*"])
    assert {a.between for a in found} == {"people"}
    with pytest.raises(DataError, match="no unit was rated by two raters"):
        agree(open_ratings_view(example_run), metrics=["question"], raters=["human:anna"])


def test_constant_ratings_are_undefined_not_perfect(tmp_path: Path) -> None:
    path = tmp_path / "flat.csv"
    path.write_text("item,a,b\nx,3,3\ny,3,3\nz,3,3\n")
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


def test_ties_of_people_are_counted_not_settled(tmp_path: Path) -> None:
    path = tmp_path / "codes.csv"
    path.write_text(
        "item,anna,ben,algorithm:x@1\na,open,open,open\nb,open,closed,open\nc,closed,closed,closed\nd,open,open,closed\n"
    )
    found = agree(open_ratings_view(path))
    consensus = next(a for a in found if a.kind == "consensus")
    assert (consensus.units, consensus.ties) == (3, 1)
    assert consensus.statistics["percent agreement"].estimate == pytest.approx(2 / 3)


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
            # Nobody here gives a single level to everything.
            and statistic.name != "kappa without constant raters"
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

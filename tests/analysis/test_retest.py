"""People beside themselves: their first and second ratings, against scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

import bedside
from bedside.analysis.ratings_view import RatingsView
from bedside.analysis.retest import retests
from bedside.analysis.selection import NothingError
from bedside.ratings.scales import Scale
from bedside.ratings.table import frame_of
from bedside.reports.renderers.markdown import markdown
from bedside.reports.tables.retest import TABLE
from tests.analysis.builders import definite

SCALE = Scale((1.0, 2.0, 3.0, 4.0, 5.0), True)


def study(units: int = 60, round: str = "main") -> tuple[RatingsView, dict[str, np.ndarray]]:
    """Anna rates 60 transcripts twice, ben all once and 20 twice; labels of turns are anna's alone."""
    rng = np.random.default_rng(4)
    first = rng.integers(1, 6, units)
    second = np.clip(first + rng.choice((-1, 0, 0, 0, 1), units), 1, 5)
    labels = rng.choice(("open", "closed"), (2, units))
    rows = []
    for unit in range(units):
        origin = (f"t{unit}", "a", None)
        rows += [(*origin, "transcript", "empathy", "human:anna", place, float(values[unit]), None, None, None)
                 for place, values in enumerate((first, second))]  # fmt: skip
        rows.append((*origin, "transcript", "empathy", "human:ben", 0, float(first[unit]), None, None, None))
        if unit < 20:
            rows.append(
                (*origin, "transcript", "empathy", "human:ben", 1, float(second[unit]), None, None, None)
            )
        rows += [(f"t{unit // 5}", "a", None, f"turn:{unit % 5}", "question", "human:anna", place, None,
                  str(labels[place, unit]), None, None) for place in (0, 1)]  # fmt: skip
        rows += [
            (*origin, "transcript", "empathy", "judge:m", place, 3.0, None, None, None) for place in (0, 1)
        ]
    view = RatingsView(frame_of(rows, round), {"empathy": SCALE}, None, "ratings")
    return view, {"first": first, "second": second, "labels": labels}


def test_first_and_second_ratings_are_compared() -> None:
    view, given = study()
    by_rater = {(retest.metric, retest.rater): retest for retest in retests(view)}
    assert set(by_rater) == {("empathy", "human:anna"), ("empathy", "human:ben"), ("question", "human:anna")}
    anna = by_rater["empathy", "human:anna"]
    assert (anna.units, anna.transcripts) == (60, 60)
    assert anna.kappa.estimate == pytest.approx(
        cohen_kappa_score(given["first"], given["second"], weights="quadratic", labels=range(1, 6))
    )
    assert anna.same.estimate == pytest.approx((given["first"] == given["second"]).mean())
    assert definite(anna.shift).estimate == pytest.approx((given["second"] - given["first"]).mean())
    ben = by_rater["empathy", "human:ben"]
    assert (ben.units, ben.kappa.n) == (20, 20)
    question = by_rater["question", "human:anna"]
    assert (question.units, question.transcripts, question.shift) == (60, 12, None)
    assert question.kappa.estimate == pytest.approx(cohen_kappa_score(*given["labels"]))


def test_two_rounds_are_no_retest_of_one() -> None:
    pilot, main = (study(round=name)[0].ratings for name in ("pilot", "main"))
    once = [part.filter(part["replicate"] == 0) for part in (pilot, main)]
    both = RatingsView(once[0].vstack(once[1]), {"empathy": SCALE}, None, "ratings")
    with pytest.raises(NothingError, match="nobody rated a unit twice"):
        retests(both)
    assert TABLE.make(both) is None


def test_the_table_says_who_agrees_with_themselves() -> None:
    table = definite(TABLE.make(study()[0]))
    text = markdown(table)
    assert "| anna | 60 |" in text
    assert "shown twice without being told" in text
    assert [record["units"] for record in table.records] == [60, 20, 60]


def test_people_agree_with_each_other_by_their_first_ratings() -> None:
    """Ben gave what anna gave first; her second thoughts stand in a table of their own."""
    view, _ = study()
    tables = bedside.agree(view.ratings, metrics="empathy", raters="human:*", scales="empathy=1-5")
    assert [table.name for table in tables] == ["agreement", "retest"]
    (people,) = (agreement for agreement in tables.results if agreement.kind == "people")
    assert people.statistics["kappa"].estimate == 1.0
    assert [record["rater"] for record in tables["retest"].records] == ["human:anna", "human:ben"]


def test_transcripts_of_one_case_are_drawn_together() -> None:
    """Twelve cases whose five transcripts are rated alike twice: as sure as twelve transcripts, not as sixty."""
    rng = np.random.default_rng(7)
    first = rng.integers(1, 6, 12)
    second = np.clip(first + rng.choice((-1, 0, 0, 1), 12), 1, 5)

    def view(transcripts: int) -> RatingsView:
        rows = [
            (f"t{case}-{place}", "a", f"c{case}", "transcript", "empathy", "human:anna", replicate,
             float(values[case]), None, None, None)
            for case in range(12) for place in range(transcripts) for replicate, values in enumerate((first, second))
        ]  # fmt: skip
        return RatingsView(frame_of(rows, "main"), {"empathy": SCALE}, None, "ratings")

    (many,), (single,) = (retests(view(transcripts)) for transcripts in (5, 1))
    assert (many.units, many.transcripts, many.cases) == (60, 60, 12)
    for mine, theirs in ((many.kappa, single.kappa), (many.shift, single.shift)):
        assert mine is not None
        assert theirs is not None
        assert definite(mine.interval).low == pytest.approx(definite(theirs.interval).low, abs=1e-9)
        assert definite(mine.interval).high == pytest.approx(definite(theirs.interval).high, abs=1e-9)


def test_the_shift_stands_with_its_interval() -> None:
    ratings, _ = study()
    (table, found) = TABLE.make(ratings), retests(ratings, metrics=["empathy"])
    shift = definite(found[0].shift)
    text = f"{shift.estimate:+.2f} [{definite(shift.interval).low:.2f}, {definite(shift.interval).high:.2f}]".replace(
        "-", "−"
    )
    assert definite(table).rows[0].cells[-1].text == text

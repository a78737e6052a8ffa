"""Texts that are written from right to left stand apart from the line they are shown in."""

from __future__ import annotations

from pathlib import Path

import pytest

from bedside.ratings.rating_files import import_ratings, read_rating_file
from bedside.ratings.rating_reading import RatingReading
from bedside.ratings.run import Run
from bedside.ratings.scales import parse_scales
from bedside.reports.build import write_report
from bedside.scoring.score import score
from tests.conftest import conversation

#: Without isolation its full stop and its numbers would be drawn by the direction of the English words before it.
SAID = "أنا لا أنام جيدا منذ أسابيع (حوالي 4 ساعات)، وأخذت Sertraline 50 mg."


@pytest.mark.slow
def test_turns_of_a_report_are_isolated_from_the_names_before_them(tmp_path: Path) -> None:
    talks = tmp_path / "talks.jsonl"
    talks.write_bytes(
        b"".join(
            conversation(("clinician", "مرحبا؟"), *[("patient", SAID)] * turns, id=f"t{turns}").to_json()
            + b"\n"
            for turns in (1, 2)
        )
    )
    run = score([talks], tmp_path / "run", metrics=["turns"]).run
    ratings = tmp_path / "ratings.csv"
    ratings.write_text(
        "item,rater,metric,value,reason\nt1,anna,empathy,1,متعب.\nt2,anna,empathy,5,\n", "utf-8"
    )
    import_ratings(run, ratings, read_rating_file(ratings, RatingReading(scales=parse_scales(["1-5"]))))
    write_report(Run(run.path), formats=["html"], out=tmp_path / "report")
    page = (tmp_path / "report" / "report.html").read_text("utf-8")
    assert f"[1] patient:</span> <bdi>{SAID}</bdi></li>" in page
    assert ": <bdi>متعب.</bdi>" in page

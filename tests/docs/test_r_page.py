"""What the page on R shows is run by R, where it is installed, on a run: its numbers are bedside's."""

from __future__ import annotations

import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

import polars as pl
import pytest

import bedside

PAGE = Path(__file__).parents[2] / "docs" / "r.md"
RSCRIPT = shutil.which("Rscript")
#: Prints what the blocks computed, a number a line, with all digits.
_PRINT = """
numbers <- c(linear$Unweighted[["value"]], linear$Weighted[["value"]], quadratic$Weighted[["value"]], fixef(model))
writeLines(c("numbers:", sprintf("%.17g", numbers)))
"""


@cache
def lacks(package: str) -> bool:
    """Whether R can't load a package."""
    assert RSCRIPT is not None
    done = subprocess.run(
        [RSCRIPT, "-e", f"quit(status = !requireNamespace('{package}', quietly = TRUE))"], check=False
    )
    return done.returncode != 0


def blocks() -> list[str]:
    return re.findall(r"^```r\n(.+?)^```", PAGE.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run in it, and the run as CSV files."""
    folder = tmp_path_factory.mktemp("r")
    run = bedside.score(bedside.EXAMPLES / "transcripts.jsonl", folder / "run", metrics="turns").run
    bedside.import_ratings(run, bedside.EXAMPLES / "ratings.csv", scales="1-5")
    bedside.export(run, "csv-folder", folder / "for-r")
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("reader", ["arrow", "csv"])
def test_its_blocks_say_in_r_what_bedside_says(reader: str, place: Path) -> None:
    if RSCRIPT is None:
        pytest.skip("R is not installed")
    for package in ("vcd", "lme4", *(["arrow"] if reader == "arrow" else [])):
        if lacks(package):
            pytest.skip(f"R has no package {package}")
    by_arrow, by_csv, *rest = blocks()
    script = place / f"{reader}.R"
    script.write_text("\n".join((by_arrow if reader == "arrow" else by_csv, *rest, _PRINT)), "utf-8")
    done = subprocess.run([RSCRIPT, script], cwd=place, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    none, linear, quadratic, *fixed = map(float, done.stdout.partition("numbers:\n")[2].split())

    run = bedside.read_run(place / "run")
    for weights, of_r in (("none", none), ("linear", linear), ("quadratic", quadratic)):
        table = bedside.agree(run, metrics="empathy", weights=weights).to_polars()  # type: ignore[arg-type]
        kappa = table.filter(pl.col("between") == "people", pl.col("statistic") == "kappa")["estimate"].item()
        assert kappa == pytest.approx(of_r, abs=1e-12)
    # Every rater rated every system on every case: coefficients are differences of means.
    compared = bedside.compare(run, metrics="empathy", raters="human:*").to_polars().filter(pl.col("n") == 4)
    differences = {(row["a"], row["b"]): row["estimate"] for row in compared.iter_rows(named=True)}
    for system, of_r in zip(("careless", "steady"), fixed[1:], strict=True):
        estimate = differences.get((system, "brisk"))
        if estimate is None:
            estimate = -differences["brisk", system]
        assert estimate == pytest.approx(of_r, abs=1e-6)


def test_the_page_has_what_it_names() -> None:
    assert len(blocks()) == 4
    assert "read_parquet" in blocks()[0]
    assert "read.csv" in blocks()[1]

"""Without the extras figures, statistics and learning the first loop runs; what needs one names it in a line."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

import bedside
from bedside.api.installation import install_line
from bedside.core.errors import MissingExtraError
from bedside.metrics.coders.learned.training import out_of_fold
from bedside.metrics.protocols.medconceal.fitting import RegressionData, regressed
from bedside.reports.contents import make_parts
from bedside.stats import equivalence, sample_size
from bedside.stats.bradley_terry import strengths
from bedside.tuning.jury_making import level_weights
from bedside.tuning.tuned_judge import LevelTable, isotonic, ordinal
from tests.analysis.preference_study import Chooser, simulated_study
from tests.conftest import Call, works
from tests.test_layers import paths

#: The libraries of each extra, and what only they bring along.
LIBRARIES = {
    "figures": ("matplotlib", "PIL", "fontTools"),
    "statistics": ("statsmodels", "pandas", "patsy"),
    "learning": ("sklearn",),
}
RNG = np.random.default_rng(1)
X, Y = RNG.normal(0, 1, (2, 20))
SHARES = np.where(np.eye(3) > 0, np.nan, RNG.integers(0, 2, (9, 3, 3)))
LEVELS = LevelTable(np.arange(3, dtype=np.float64), np.array([[4, 2, 1], [1, 5, 2], [0, 1, 6]], dtype=float))


@pytest.fixture(autouse=True)
def core_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is imported already is out of reach, too."""
    tops = {library for libraries in LIBRARIES.values() for library in libraries}
    for name in [*(name for name in sys.modules if name.partition(".")[0] in tops), *tops]:
        monkeypatch.setitem(sys.modules, name, None)


@pytest.mark.slow
def test_the_first_loop_runs(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(shutil.copytree(bedside.EXAMPLES, tmp_path / "here"))
    works(call, "score", "transcripts.jsonl", "--out", "run")
    works(call, "ratings", "import", "run", "ratings.csv", "--scale", "1-5")
    works(call, "sample", "run", "--by", "system", "--per", "4", "--rubrics", "empathy")
    works(call, "agree", "run")
    works(call, "validate", "study.csv")
    works(call, "estimate", "study.csv")
    works(call, "compare", "run", "--systems", "steady,careless")
    assert install_line("figures") in works(call, "report", "run")[1]
    works(call, "explain", "run", "--cell", "empathy/steady")
    Path("pairs.csv").write_text(
        "first,second,rater,preferred,metric\nsteady-sleep,careless-sleep,anna,first,empathy\n", "utf-8"
    )
    works(call, "ratings", "import", "run", "pairs.csv")
    assert install_line("learning") in works(call, "report", "run")[1]
    works(call, "view", "run", "--export", "supplement")
    written = {file.name for file in Path("run/report").iterdir()}
    assert {"report.html", "results.csv", "tables.xlsx"} <= written
    assert not [name for name in written if name.endswith(".svg")]
    code, _, err = call("report", "run", "--format", "csv,png", "--out", "other")
    assert (code, install_line("figures") in err, Path("other").exists()) == (2, True, False)


@pytest.mark.parametrize(
    ("extra", "ask"),
    [
        ("statistics", lambda: equivalence.paired_means(X, Y, margin=1)),
        ("statistics", lambda: equivalence.unpaired_means(X, Y, margin=1)),
        ("statistics", lambda: sample_size.pairs_for_difference(1, 1)),
        ("learning", lambda: strengths(SHARES, "abc")),
        ("learning", lambda: regressed(RegressionData(X[:, None], np.arange(20) % 2, np.arange(20)), 1.0, "x")),
        ("learning", lambda: level_weights(np.column_stack([X, Y]), X, [str(k) for k in range(20)], np.ones(20))),
        ("learning", lambda: isotonic(LEVELS)),
        ("learning", lambda: ordinal(LEVELS)),
        ("learning", lambda: out_of_fold(cast(Any, None))),
    ],
)
def test_what_needs_more_names_the_extra(extra: str, ask: Callable[[], Any]) -> None:
    with pytest.raises(MissingExtraError, match=rf'needs? \S+, which.*pip install "bedside\[{extra}\]"$'):
        ask()


def test_a_report_leaves_out_the_tables_that_need_more() -> None:
    view = simulated_study({"A": 0.9, "B": -0.9}, (Chooser("judge:m", 0.6, passes=2),), cases=12, seed=2).view()
    left_out = [text for part in make_parts(view) for text in part.left_out]
    assert [text for text in left_out if "bedside[learning]" in text]
    assert {table.name for part in make_parts(view) for table in part.tables} >= {"comparison"}


@pytest.mark.parametrize("extra", LIBRARIES)
def test_every_module_that_imports_of_an_extra_names_it(extra: str) -> None:
    imports = re.compile(rf"^ *(?:from|import) {LIBRARIES[extra][0]}\b", re.M)
    users = {path.name: path.read_text("utf-8") for path in paths().values() if imports.search(path.read_text("utf-8"))}
    # Figures are drawn within `styled`, which asks for their library.
    silent = {name for name, text in users.items() if f'from_extra("{extra}"' not in text} - {"figure_parts.py"}
    assert users
    assert not silent

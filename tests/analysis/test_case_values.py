"""One value a case and system, against a slow direct computation."""

from __future__ import annotations

import numpy as np
import pytest

from bedside.analysis.case_values import case_means, case_values
from tests.analysis.ratings_rows import Row, view

RNG = np.random.default_rng(5)
#: Up to four transcripts a case and system, some without a value, some without a case.
ROWS: list[Row] = [
    (
        f"t{n}",
        str(RNG.choice(["A", "B"])),
        None if n % 11 == 0 else f"c{RNG.integers(12)}",
        "smog",
        "algorithm:r@1",
        None if n % 7 == 0 else float(RNG.normal()),
    )
    for n in range(70)
]


@pytest.mark.parametrize("system", ["A", "B"])
def test_a_case_has_the_mean_of_its_transcripts(system: str) -> None:
    by_case: dict[str, list[float | None]] = {}
    for transcript, of_system, case, *_, value in ROWS:
        if of_system == system:
            by_case.setdefault(case or f"\0{transcript}", []).append(value)
    present = {
        case: [value for value in values if value is not None]
        for case, values in by_case.items()
        if any(value is not None for value in values)
    }
    ours = case_values(view(ROWS).transcript_values(["smog"]), system)
    assert ours.cases == tuple(sorted(present))
    assert ours.values == pytest.approx([np.mean(present[case]) for case in sorted(present)])
    assert list(ours.transcripts) == [len(present[case]) for case in sorted(present)]
    assert ours.missing == sum(value is None for values in by_case.values() for value in values)
    assert ours.missing_cases == len(by_case) - len(present)
    assert ours.n_transcripts == sum(map(len, present.values()))
    assert not ours.is_single


def test_passes_and_people_of_a_transcript_count_once_whatever_their_number() -> None:
    rows: list[Row] = [
        ("x", "A", "1", "warmth", "human:anna", 1.0),
        ("x", "A", "1", "warmth", "human:ben", 2.0),
        ("x", "A", "1", "warmth", "human:cleo", 3.0),
        ("y", "A", "1", "warmth", "human:anna", 5.0),
    ]
    ours = case_values(view(rows).transcript_values(["warmth"]), "A")
    assert (ours.cases, list(ours.values), list(ours.transcripts)) == (("1",), [3.5], [2])


def test_transcripts_without_a_case_or_a_system_are_cases_of_their_own() -> None:
    rows: list[Row] = [(f"t{n}", None, None, "smog", "algorithm:r@1", float(n)) for n in range(4)]
    values = view(rows).transcript_values(["smog"])
    ours = case_values(values, None)
    assert (list(ours.values), ours.is_single) == ([0.0, 1.0, 2.0, 3.0], True)
    assert case_values(values, "A").n == 0
    some = ours.of((ours.cases[2], ours.cases[0]))
    assert (list(some.values), some.n) == ([2.0, 0.0], 2)


def test_all_metrics_and_systems_at_once_are_the_same_values() -> None:
    rows = [*ROWS, *((name, s, c, "pace", r, v) for name, s, c, _, r, v in ROWS)]
    values = view(rows).transcript_values(["smog", "pace"])
    together = case_means(values)
    for (system, metric), part in values.group_by("system", "metric"):
        alone = case_values(part, str(system))
        same = together.filter(system=system, metric=metric).drop_nulls("value")
        assert tuple(same["case"]) == alone.cases
        assert same["value"].to_numpy() == pytest.approx(alone.values, rel=1e-12)

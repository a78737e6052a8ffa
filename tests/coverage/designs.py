"""All designs of the gate."""

from __future__ import annotations

from collections.abc import Iterator

from tests.coverage.agreement_designs import agreement_designs
from tests.coverage.compare_designs import compare_designs
from tests.coverage.estimate_designs import estimate_designs
from tests.coverage.length_designs import length_designs
from tests.coverage.many_systems_designs import many_systems_designs
from tests.coverage.margin_designs import margin_designs
from tests.coverage.planned_designs import planned_designs
from tests.coverage.preference_designs import preference_designs
from tests.coverage.replicates import Design
from tests.coverage.validate_designs import validate_designs


def designs() -> Iterator[Design]:
    """In the order of the table in docs/error-rates.md."""
    yield from compare_designs()
    yield from length_designs()
    yield from many_systems_designs()
    yield from margin_designs()
    yield from preference_designs()
    yield from estimate_designs()
    yield from validate_designs()
    yield from agreement_designs()
    yield from planned_designs()

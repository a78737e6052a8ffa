"""For the tests of other projects: the fixture ``bedside_gate``, which fails a test where ``bedside gate`` would."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import pytest

if TYPE_CHECKING:
    from bedside.analysis.gate import Gate


class GateCheck(Protocol):
    """What the fixture is: :func:`bedside.gate`, which fails the test where the gate isn't passed."""

    def __call__(self, source: Any, *, baseline: str, margin: Any, **options: Any) -> Gate:
        """The gate that was passed; arguments as for :func:`bedside.gate`."""


@pytest.fixture(scope="session")
def bedside_gate() -> GateCheck:
    """Call it with a run, its baseline and margins: the test fails, with the table, unless the gate is passed."""

    def check(source: Any, *, baseline: str, margin: Any, **options: Any) -> Gate:
        # Not before: every pytest run on this computer loads this module.
        from bedside import gate
        from bedside.core.errors import BedsideError

        __tracebackhide__ = True
        try:
            tables = gate(source, baseline=baseline, margin=margin, **options)
        except BedsideError as error:
            pytest.fail(f"the gate can't be asked: {error}", pytrace=False)
        if not tables.results.passed:
            pytest.fail(str(tables), pytrace=False)
        return tables.results

    return check

from __future__ import annotations

import pytest

from bedside.ratings.run import Run
from tests.reports.viewer.runs import rich_run


@pytest.fixture(scope="session")
def rich(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run to be looked at and not changed."""
    return rich_run(tmp_path_factory.mktemp("viewed"))

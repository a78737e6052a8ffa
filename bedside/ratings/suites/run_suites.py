"""The suites that a run was scored by, as its manifest names or keeps them."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from bedside.core.errors import RunError
from bedside.ratings.run import Run
from bedside.ratings.suites.suite import SUITES, Suite


def suites_of(run: Run) -> tuple[Suite, ...]:
    """The suites a run was scored by, in order of scoring; of one of the user's own the latest wording.

    Raises:
        RunError: the run's manifest doesn't hold a suite as it was written.
    """
    suites: dict[str, Suite] = {}
    for entry in run.manifest["scorings"]:
        name, own_suite = entry.get("suite"), entry.get("own_suite")
        if name is None:
            continue
        if own_suite is not None:
            try:
                suites[name] = Suite.model_validate(own_suite)
            except ValidationError as error:
                raise RunError(
                    f"the suite {name!r} in the run's manifest can't be read", where=str(run.path), todo="score again"
                ) from error
        elif name in SUITES and name not in suites:
            suites[name] = SUITES.load(name)
    return tuple(suites.values())


def unregistered(suite: Suite) -> dict[str, Any] | None:
    """A suite that isn't one of the registry's, whole, for a run's manifest; None for one that is."""
    if suite.name in SUITES and SUITES.load(suite.name) == suite:
        return None
    return suite.model_dump(mode="json")

"""What a rating page keeps beside the run: its folder, the secret of each rater's link, and where it was served.

It is no part of the run's folder, because a run is copied and sent on, and secrets must not go with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from bedside.annotation.annotation_plan import AnnotationPlan, plan_hash
from bedside.core.errors import InputError, RunError
from bedside.core.files import holding, saying_where, write_json
from bedside.core.page_serving import new_secret
from bedside.ratings.run import Run

DATABASE = "answers.sqlite"
LINKS = "links.json"
PLACE = "place.json"
_SERVER_LOCK = "server.lock"
_LINKS_LOCK = "links.lock"
_SECRET = re.compile(r"[A-Za-z0-9_-]{20,100}")
_MOST_BYTES = 10_000_000


class _Links(BaseModel):
    """The file of secrets: rater → the end of the rater's link."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    raters: dict[str, str]


class _Place(BaseModel):
    """The file that says at which address the page was served last."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    address: str


@dataclass(frozen=True, slots=True)
class PageFolder:
    """The folder of a plan's rating page.

    Attributes:
        path: the folder, ``RUN-rating-page/PLAN`` beside the run, which only its owner can open.
    """

    path: Path

    @property
    def database(self) -> Path:
        """The database of answers."""
        return self.path / DATABASE

    @property
    def links_file(self) -> Path:
        """The file with every rater's secret."""
        return self.path / LINKS

    def make(self) -> None:
        """Make the folder, for its owner alone, if it isn't there.

        Raises:
            RunError: it can't be made.
        """
        with saying_where(self.path):
            self.path.parent.mkdir(mode=0o700, exist_ok=True)
            self.path.mkdir(mode=0o700, exist_ok=True)

    @contextmanager
    def serving(self) -> Iterator[None]:
        """Hold the folder for the one server of its plan.

        Raises:
            InputError: another server has it.
        """
        address = self.address()
        refusal = InputError(
            "another server has this plan's rating page" + (f", at {address}" if address else ""),
            where=str(self.path),
            todo="use that one, or stop it with Ctrl-C; bedside annotate page PLAN --links prints its links",
        )
        with holding(self.path / _SERVER_LOCK, refusal):
            yield

    def secrets(self, raters: Sequence[str]) -> Mapping[str, str]:
        """Rater → secret. Those there already keep theirs; who is new gets one.

        Raises:
            RunError: the file is damaged or can't be written.
        """
        refusal = RunError("another bedside process is making links", where=str(self.path), todo="try again")
        with holding(self.path / _LINKS_LOCK, refusal, 10.0):
            known = self._known_secrets()
            missing = [rater for rater in raters if rater not in known]
            if missing:
                known |= {rater: new_secret() for rater in missing}
                write_json(self.links_file, {"raters": known})
        return {rater: known[rater] for rater in raters}

    def _known_secrets(self) -> dict[str, str]:
        if not self.links_file.is_file():
            return {}
        try:
            known = _Links.model_validate_json(self.links_file.read_bytes()[:_MOST_BYTES]).raters
            if not all(map(_SECRET.fullmatch, known.values())) or len(set(known.values())) < len(known):
                raise ValueError("a secret is none")
        except (ValidationError, ValueError, OSError) as error:
            raise RunError(
                "the file of links is damaged",
                where=str(self.links_file),
                todo="restore it from a copy, or remove it: every rater then gets a new link",
            ) from error
        return known

    def address(self) -> str | None:
        """Where the page was served last; None where it never was."""
        path = self.path / PLACE
        try:
            return _Place.model_validate_json(path.read_bytes()).address if path.is_file() else None
        except (ValidationError, OSError):
            return None

    def remember_address(self, address: str) -> None:
        """Keep where the page is served, for links that are printed again."""
        write_json(self.path / PLACE, {"address": address})


def page_folder(run: Run, plan: AnnotationPlan) -> PageFolder:
    """The folder of a plan's rating page, beside its run."""
    place = Path(run.path).absolute()
    return PageFolder(place.with_name(f"{place.name}-rating-page") / plan_hash(plan))


def rater_links(address: str, secrets_by_rater: Mapping[str, str]) -> dict[str, str]:
    """Rater → link. The secret stands behind ``#``: browsers never send that part, so that no log can hold it."""
    return {rater: f"{address}/#{secret}" for rater, secret in secrets_by_rater.items()}

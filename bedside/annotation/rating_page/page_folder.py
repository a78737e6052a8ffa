"""What a rating page keeps beside the run: its folder, the secret of each rater's link, and where it was served.

It is no part of the run's folder, because a run is copied and sent on, and secrets must not go with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from bedside.annotation.annotation_plan import AnnotationPlan, plan_hash
from bedside.core.errors import InputError
from bedside.core.files import check_no_links, holding, saying_where, write_json
from bedside.core.page_serving import LinkFile
from bedside.ratings.run import Run

DATABASE = "answers.sqlite"
PEOPLE = "people.sqlite"
LINKS = "links.json"
PLACE = "place.json"
_SERVER_LOCK = "server.lock"
#: Stands for whoever runs the study in the file of links, where raters' names stand; none can be called so.
RESEARCHER = "?"


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
    def people(self) -> Path:
        """The database of the people who enrolled."""
        return self.path / PEOPLE

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

    @property
    def links(self) -> LinkFile:
        """What keeps the raters' secrets."""
        return LinkFile(self.links_file)

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
    """The folder of a plan's rating page, beside its run; a RunError where a link stands in it."""
    place = Path(run.path).absolute()
    folder = place.with_name(f"{place.name}-rating-page") / plan_hash(plan)
    check_no_links(folder, "a rating page")
    return PageFolder(folder)

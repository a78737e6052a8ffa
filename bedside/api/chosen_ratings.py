"""Which ratings a question is about: the part of a study that is chosen, and a view that several questions take."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from bedside.core.errors import InputError
from bedside.core.question_settings import WHICH, changed_fields, filled_in, option, settings_class
from bedside.core.stopping import phase
from bedside.core.words import Names, counted, listed, listed_by_name
from bedside.ratings.rating_reading import SCALES, FileReading
from bedside.ratings.run_folder import is_run

if TYPE_CHECKING:
    import polars as pl

    from bedside.analysis.ratings_view import RatingSource, RatingsView

#: Fields that settings of several kinds have.
ROUNDS: Any = option(
    "Rounds of people's ratings that count, or all. Needed where a metric was rated in several.",
    "--round", "--rounds", default=None, heading=WHICH, metavar="A,B", form="rounds", offers="rounds",
)  # fmt: skip
ALL_METRICS: Any = option(
    "Metrics or rubrics to look at; * stands for any letters. Without it, all of them.",
    "--metrics", "--rubric", "--rubrics", default=None, heading=WHICH, metavar="A,B*", form="names", offers="rated",
)  # fmt: skip
SYSTEMS: Any = option(
    "Systems to look at. Without it, all of them.", default=None, heading=WHICH, metavar="A,B", form="names"
)
WHERE: Any = option(
    "Only transcripts with this level of a factor, such as setting=8.",
    default=None, heading=WHICH, metavar="FACTOR=LEVEL,…", form="levels",
)  # fmt: skip
RATERS: Any = option(
    "Raters whose ratings count, such as human:anna or judge:*. Without it, all of them.",
    default=None, heading=WHICH, metavar="A,B*", form="names", offers="raters",
)  # fmt: skip

BY_VERSION: Any = option(
    "Take each version of a judge's model that answered as a rater of its own.", default=False, heading=WHICH
)


def groups_under(heading: str) -> Any:
    """The field that names a factor whose levels are compared, under a heading of ``--help``."""
    return option("Compare a factor's levels in place of systems.", default=None, heading=heading, metavar="FACTOR")


GROUPS: Any = groups_under(WHICH)


@settings_class
class PartOfStudy:
    """The part of a study that a question is about."""

    rounds: Names | None = ROUNDS
    where: Mapping[str, Names] | None = WHERE


@settings_class
class RatingsPart(PartOfStudy, FileReading):
    """Which ratings a question is about."""

    scales: Names = SCALES
    by_version: bool = BY_VERSION


@settings_class
class MatchedBy:
    """What systems are matched by."""

    match: Names | None = option(
        "Factors that systems are matched by, or none. Without it, conditions that vary within shared cases.",
        default=None, heading=WHICH, metavar="A,B", form="names",
    )  # fmt: skip


@settings_class
class Matched(RatingsPart, MatchedBy):
    """Which ratings a question is about that sets systems against one another."""


@settings_class
class Within:
    """Whether a question is answered once for all or for each level of a factor."""

    within: str | None = option(
        "One answer for each level of a factor, such as setting.", default=None, heading=WHICH, metavar="FACTOR"
    )


@settings_class
class Chosen:
    """The systems, metrics and raters of a question about quality."""

    systems: Names | None = SYSTEMS
    metrics: Names | None = option(
        "Metrics or rubrics. Without it, those that people rated or that have a better end.",
        "--metrics", "--rubric", "--rubrics", default=None, heading=WHICH, metavar="A,B*", form="names", offers="rated",
    )  # fmt: skip
    raters: Names | None = RATERS


def read_source(source: RatingSource, settings: RatingsPart) -> RatingSource:
    """What is read from a file or data frame as the settings say; a run as it is.

    Raises:
        BedsideError: ratings can't be read from it, or what says how a file is read is given of a run.
    """
    from bedside.analysis.metric_facts import known_names
    from bedside.ratings.rating_content import is_frame
    from bedside.ratings.rating_files import RatingFile, read_rating_file, read_rating_frame, sheets_of, tell_of

    if is_frame(source):
        return read_rating_frame(source, settings.parsed(settings.scales, known_names()))
    if isinstance(source, str | os.PathLike) and sheets_of(source):
        file = read_rating_file(source, settings.parsed(settings.scales, known_names()))
        tell_of(file)
        return file
    names = [f"`{name}`" for name in changed_fields(settings, FileReading)]
    if names and was_read(source):
        known = source.name if isinstance(source, RatingFile) else getattr(source, "path", source)
        raise InputError(
            f"{' and '.join(names)} {'says' if len(names) == 1 else 'say'} how a file of ratings is read, and "
            f"{'this file' if isinstance(source, RatingFile) else 'a run'} was read before",
            where=str(known),
            todo="leave out what is said of files, or name the file in place of the run",
        )
    return source


def was_read(source: RatingSource | View) -> bool:
    """Whether it is a run, or what was read from a file."""
    return not isinstance(source, str | os.PathLike) or is_run(source)


@settings_class
class ChosenRatings(Matched, Within):
    """What a view is made with."""

    groups: str | None = GROUPS


class View:
    """Ratings that are read once, and the part of them that questions are about.

    Every question to ratings takes a view in place of the run: ``bedside.agree(view)``, ``bedside.compare(view)``. What
    is chosen here holds for each of them, and what several need is computed once. A question may choose further
    transcripts among these by ``where``; all else is said here.

    Args:
        source: a run (the object or its folder), a file of ratings, or a pandas or Polars data frame of them.
        settings: fields of :class:`ChosenRatings`: ``where``, ``within``, ``rounds``, ``match``, ``groups``,
            ``scales``, and how a file is read.

    Raises:
        BedsideError: ratings can't be read from it, or there is no such round, factor or level.
    """

    def __init__(self, source: RatingSource, **settings: Any) -> None:
        from bedside.analysis.groups import group_view

        chosen = filled_in(ChosenRatings, "View", **settings)
        view = view_of(source, chosen)
        if chosen.within is not None:
            view.by_level(chosen.within)
        self._view = view if chosen.groups is None else group_view(view, chosen.groups)
        self._within = chosen.within

    def __repr__(self) -> str:
        parts = [f"where {name}={', '.join(levels)}" for name, levels in self._view.part.where.items()]
        parts += [f"within {self._within}"] if self._within else []
        told = "".join(f", {part}" for part in parts)
        return (
            f"View({self._view.name!r}: {counted(self._view.ratings.height, 'rating')} of "
            f"{counted(len(self._view.transcripts()), 'transcript')}{told})"
        )

    @property
    def ratings(self) -> pl.DataFrame:
        """The ratings, as of a run: a Polars data frame with a row a rating."""
        return self._view.ratings

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics that are rated, in the order of tables."""
        return tuple(self._view.metrics())

    @property
    def raters(self) -> tuple[str, ...]:
        """Who rated."""
        return tuple(self._view.raters())

    @property
    def systems(self) -> tuple[str, ...]:
        """The systems, or the groups in their place, in the order of tables."""
        return tuple(self._view.systems())

    @property
    def within(self) -> str | None:
        """The factor for each of whose levels questions are answered."""
        return self._within

    def for_question(self, settings: RatingsPart) -> RatingsView:
        """The ratings that a question is about which is put to this view.

        Raises:
            InputError: the question says again what the view has chosen.
            DataError: there is no such factor or level.
        """
        said = [name for name in changed_fields(settings, RatingsPart) if name != "where"]
        if getattr(settings, "match", None) is not None:
            said.append("match")
        if getattr(settings, "groups", None) is not None and self._view.part.groups is not None:
            said.append("groups")
        if said:
            raise InputError(
                f"{' and '.join(f'`{name}`' for name in said)} can't be said of a view, which was read before",
                where=self._view.name,
                todo="say it where the view is made",
            )
        if self._within is not None and not isinstance(settings, Within):
            raise InputError(
                f"this isn't answered for each level of {self._within}, which the view says",
                where=self._view.name,
                todo="make a view without `within`, and choose one level with `where`",
            )
        return self._view.where(listed_by_name(settings.where, "where") or {})


def within_of(source: RatingSource | View, settings: Within) -> str | None:
    """The factor for each of whose levels a question is answered.

    Raises:
        InputError: a view says another.
    """
    if not isinstance(source, View) or source.within is None:
        return settings.within
    if settings.within not in (None, source.within):
        raise InputError(
            f"the view is answered for each level of {source.within}, and not of {settings.within}",
            where="`within`",
            todo="say it where the view is made",
        )
    return source.within


@phase("reading")
def view_of(source: RatingSource | View, settings: RatingsPart) -> RatingsView:
    """The ratings that a question is about.

    Raises:
        BedsideError: they can't be read, or there is no such round, factor or level.
    """
    from bedside.analysis.ratings_view import open_ratings_view
    from bedside.ratings.scales import parse_scales

    if isinstance(source, View):
        return source.for_question(settings)
    view = open_ratings_view(
        read_source(source, settings),
        scales=parse_scales(listed(settings.scales, "scales")),
        rounds=listed(settings.rounds, "rounds"),
        where=listed_by_name(settings.where, "where"),
        match=listed(settings.match, "match") if isinstance(settings, Matched) else None,
    )
    if not settings.by_version:
        return view
    from bedside.analysis.judge_versions import by_version

    return by_version(view)

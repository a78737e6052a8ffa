"""An annotation plan: who rates what, by which rubrics, in which order.

A plan is a JSON file that people can read and that bedside checks: it is sealed by a hash, so that a plan edited by
hand is noticed, and it names the run by the content of its transcripts, so that it can't be used with another. It holds
the map from opaque item ids to transcripts, so it stays with the run and never goes to raters or a server.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    model_validator,
)

from bedside.annotation.fields import entry_part
from bedside.ratings.run import Run
from bedside.rubrics.rubric import Rubric
from bedside.support.errors import InputError

Mode = Literal["rate", "audit", "findings", "codes"]
Focus = Literal["random", "disagreement", "uncertain"]
MODES: tuple[Mode, ...] = ("rate", "audit", "findings", "codes")
FOCI: tuple[Focus, ...] = ("random", "disagreement", "uncertain")
#: Kinds of rubrics that people can answer in each mode.
KINDS: Mapping[Mode, tuple[str, ...]] = {
    "rate": ("level", "label", "set"),
    "audit": ("level", "label"),
    "findings": ("list",),
    "codes": ("label",),
}

#: What a rater's name looks like: it is part of a rating's rater, and of a file's name.
RATER = r"^[^\W_](?:[\w.@+-]{0,62}\w)?$"
RaterName = Annotated[str, StringConstraints(pattern=RATER)]
Unit = Annotated[str, StringConstraints(pattern=r"^(transcript|turn:[0-9]{1,9})$")]


class _RubricPart(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class PlannedRubric(_RubricPart):
    """A rubric in full, with the hash of its wording.

    Attributes:
        version: :attr:`bedside.rubrics.rubric.Rubric.version`.
        rubric: the rubric.
    """

    version: str
    rubric: Rubric

    @model_validator(mode="after")
    def _same(self) -> Self:
        if self.rubric.version != self.version:
            raise ValueError(f"the wording of {self.rubric.name} is not that of version {self.version}")
        return self


class Stratum(_RubricPart):
    """A stratum of the run's transcripts.

    Attributes:
        factors: what its transcripts have in common: factor → value; empty where the run isn't divided.
        available: units (transcripts or turns) there are.
        wanted: how many were asked for.
        drawn: how many the plan has.
    """

    factors: dict[str, str]
    available: int
    wanted: int
    drawn: int

    @property
    def name(self) -> str:
        """The values, in words."""
        return " · ".join(self.factors.values()) or "all"


class PlanItem(_RubricPart):
    """What is rated: a transcript, or a turn of one.

    Attributes:
        id: opaque; all that raters and servers see.
        transcript: id of the transcript in the run.
        unit: ``transcript`` or ``turn:<index>``.
        stratum: position of its stratum in the plan.
        drawn: how it came into the plan.
    """

    id: str
    transcript: str
    unit: Unit = "transcript"
    stratum: int
    drawn: Focus


class TrainingItem(_RubricPart):
    """A transcript with known answers, rated first by everyone and never counted as a rating.

    Attributes:
        id: opaque, as of an :class:`PlanItem`.
        transcript: id of the transcript.
        unit: as of an :class:`PlanItem`.
        content: the transcript (``Transcript.to_json``) where it isn't one of the run's.
        answers: rubric → the level or label; in codes mode, code → turn index (as text) → label; in findings mode,
            rubric → list of ``{"category": …, "text": …}``.
    """

    id: str
    transcript: str
    unit: Unit = "transcript"
    content: str | None = None
    answers: dict[str, Any]


class AnnotationPlan(_RubricPart):
    """Who rates what.

    Attributes:
        format: of the file.
        mode: ``rate`` (blind), ``audit`` (the judge's score and reason are shown), ``findings`` (concerns are listed)
            or ``codes`` (turns are coded).
        run: :func:`run_identity` of the run.
        rubrics: what is asked, in the order it is shown.
        judge: in audit mode, the rater whose scores are shown.
        raters: names; a rating's rater is ``human:<name>``.
        overlap: raters of each item.
        shared: items rated by everyone instead.
        by: factors that divide the strata.
        focus: which units go first.
        random_share: share of each stratum that is drawn at random whatever the focus.
        seed: of everything drawn at random.
        strata: with their counts.
        left_out: reason → units that can't be rated.
        training: the training set, in the order it is shown.
        items: what is rated, in the order of their ids.
        assignment: rater → ids in the order they are shown: the training set, then the rater's items, shuffled.
        seal: SHA-256 (hex) of all the rest.
    """

    format: Literal[1] = 1
    mode: Mode
    run: str
    rubrics: tuple[PlannedRubric, ...] = Field(min_length=1)
    judge: str | None = None
    raters: tuple[RaterName, ...] = Field(min_length=1)
    overlap: int = Field(ge=1)
    shared: int = Field(default=0, ge=0)
    by: tuple[str, ...] = ()
    focus: Focus = "random"
    random_share: float = Field(default=0.0, ge=0, le=1)
    seed: int
    strata: tuple[Stratum, ...]
    left_out: dict[str, int] = {}
    training: tuple[TrainingItem, ...] = ()
    items: tuple[PlanItem, ...]
    assignment: dict[str, tuple[str, ...]]
    seal: str = ""

    @model_validator(mode="after")
    def _belongs(self) -> Self:
        names = [each.rubric.name for each in self.rubrics]
        for what, found in (("rubric", names), ("rater", [rater.casefold() for rater in self.raters])):
            doubled = [name for name, count in Counter(found).items() if count > 1]
            if doubled:
                raise ValueError(f"the {what} {doubled[0]} is there twice")
        check_rubrics(self.mode, [each.rubric for each in self.rubrics])
        ids = [item.id for item in self.everything]
        if len(set(ids)) != len(ids):
            raise ValueError("an item's id is there twice")
        if set(self.assignment) != set(self.raters):
            raise ValueError("the assignment is not of the plan's raters")
        known = set(ids)
        for rater, order in self.assignment.items():
            if not known.issuperset(order) or len(set(order)) != len(order):
                raise ValueError(f"the assignment of {rater} names an unknown item, or one twice")
        if any(not 0 <= item.stratum < len(self.strata) for item in self.items):
            raise ValueError("an item is of an unknown stratum")
        return self

    @property
    def everything(self) -> tuple[PlanItem | TrainingItem, ...]:
        """The training set and the items."""
        return (*self.training, *self.items)

    @cached_property
    def by_id(self) -> Mapping[str, PlanItem | TrainingItem]:
        """Items and training items by their id."""
        return {item.id: item for item in self.everything}

    @cached_property
    def raters_of(self) -> Mapping[str, tuple[str, ...]]:
        """Item's id → its raters."""
        found: dict[str, list[str]] = {}
        for rater in self.raters:
            for item in self.assignment[rater]:
                found.setdefault(item, []).append(rater)
        return {item: tuple(raters) for item, raters in found.items()}


def check_rubrics(mode: Mode, rubrics: Sequence[Rubric]) -> None:
    """Say whether people can answer rubrics in a mode, all of them on one page.

    Raises:
        ValueError: they can't.
    """
    for rubric in rubrics:
        if rubric.kind not in KINDS[mode]:
            kinds = " or ".join(KINDS[mode])
            raise ValueError(
                f"{rubric.name} asks for a {rubric.kind}; mode {mode} takes rubrics of kind {kinds}"
            )
        if mode == "findings":
            entry_part(rubric)
        if mode == "codes" and (rubric.unit != "turn" or rubric.role is None):
            raise ValueError(f"{rubric.name} is not about the turns of a role")
    if mode == "findings" and len(rubrics) > 1:
        raise ValueError("mode findings takes one rubric")
    turns = [rubric for rubric in rubrics if rubric.unit == "turn"]
    if mode != "codes" and 0 < len(turns) < len(rubrics):
        names = ", ".join(rubric.name for rubric in turns)
        raise ValueError(f"{names} is about turns, and others about transcripts: make a plan for each")
    if mode != "codes" and len({rubric.role for rubric in turns}) > 1:
        raise ValueError("the rubrics are about turns of different roles: make a plan for each")


def run_identity(run: Run) -> str:
    """A hash (hex) of the ids and contents of a run's transcripts: the same wherever the run is, whatever is rated."""
    rows = sorted(run.index.select("id", "hash").iter_rows())
    return hashlib.sha256(json.dumps(rows, ensure_ascii=False).encode()).hexdigest()


def plan_hash(plan: AnnotationPlan) -> str:
    """The plan's own name: the first 12 digits of its seal."""
    return plan.seal[:12]


def page_version(plan: AnnotationPlan) -> str:
    """What answers on one labelling page have in common, as 12 hexadecimal digits: mode, rubrics and their wording."""
    seen = [plan.mode, *([each.rubric.name, each.version] for each in plan.rubrics)]
    return hashlib.sha256(json.dumps(seen).encode()).hexdigest()[:12]


def rater_of(plan: AnnotationPlan, name: str, where: str) -> str:
    """The plan's rater of this name, whatever its case.

    Raises:
        InputError: there is none.
    """
    found = {rater.casefold(): rater for rater in plan.raters}.get(name.strip().casefold())
    if found is None:
        raise InputError(
            f"{name!r} is no rater of the plan", where=where, todo=f"its raters: {', '.join(plan.raters)}"
        )
    return found


def planned(rubrics: Sequence[Rubric]) -> tuple[PlannedRubric, ...]:
    """Rubrics as a plan holds them."""
    return tuple(PlannedRubric(version=rubric.version, rubric=rubric) for rubric in rubrics)


def opaque_id(*parts: object) -> str:
    """A name that says nothing of what it names to those who don't have the run."""
    return hashlib.sha256("\n".join(map(str, parts)).encode()).hexdigest()[:12]

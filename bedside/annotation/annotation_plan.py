"""An annotation plan: who rates what, by which rubrics, in which order.

A plan names its run by the content of its transcripts, so that it can't be used with another. It holds the map from
opaque item ids to transcripts, so it stays with the run and never goes to raters or a server. How it is kept in a file
says :mod:`~bedside.annotation.plan_file`.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal, Self

import polars as pl
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from bedside.annotation.fields import CASE_KINDS, AskedField, choices, code_field, entry_part, link_fields, list_fields
from bedside.annotation.plan_choices import Focus, Mode
from bedside.core.errors import InputError
from bedside.judges.rubrics.answer_form import LINKED_KINDS
from bedside.judges.rubrics.composites import PointCriterion
from bedside.judges.rubrics.rubric import Rubric, link_form
from bedside.judges.rubrics.rubric_files import incomparable, preference_rubric
from bedside.ratings.run import Run
from bedside.ratings.table import ROUND

#: Modes of plans that are drawn; what is adjudicated is drawn from nothing (:mod:`~bedside.annotation.adjudication`).
#: Kinds of rubrics that people can answer in each mode.
KINDS: Mapping[Mode, tuple[str, ...]] = {
    "rate": ("level", "label", "set", "points", "pairs", "index"),
    "audit": ("level", "label", "set", "points", "pairs", "index", "list"),
    "findings": ("list",),
    "codes": ("label",),
    "pairs": ("level",),
    "adjudicate": ("level", "label", "set", "points", "pairs", "index"),
}

#: What a rater's name looks like: it is part of a rating's rater, and of a file's name.
RATER = r"^[^\W_](?:[\w.@+-]{0,62}\w)?$"
RaterName = Annotated[str, StringConstraints(pattern=RATER)]
RoundName = Annotated[str, StringConstraints(pattern=ROUND)]
Unit = Annotated[str, StringConstraints(pattern=r"(?s)^(transcript|turn:[0-9]{1,9}|pair:.+)$")]


class _PlanPart(BaseModel):
    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", frozen=True, strict=True)


class PlannedRubric(_PlanPart):
    """A rubric in full, with the hash of its wording.

    Attributes:
        version: :attr:`bedside.judges.rubrics.rubric.Rubric.version`.
        rubric: the rubric.
    """

    version: str
    rubric: Rubric

    @model_validator(mode="after")
    def _same(self) -> Self:
        if self.rubric.version != self.version:
            raise ValueError(f"the wording of {self.rubric.name} is not that of version {self.version}")
        return self


class Stratum(_PlanPart):
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


class PlanItem(_PlanPart):
    """What is rated: a transcript, a turn of one, or one beside another.

    Attributes:
        id: opaque; all that raters and servers see.
        transcript: id of the transcript in the run; of two, of the one that is shown first.
        unit: ``transcript``, ``turn:<index>``, or ``pair:<id>`` with the id of the one that is shown second.
        stratum: position of its stratum in the plan.
        drawn: how it came into the plan.
        chance: with which it came into the plan; 0 where it was picked for what it is, None where it isn't known.
        replicate: 1 where it shows raters again what another item showed them (two transcripts the other way round),
            else 0.
    """

    id: str
    transcript: str
    unit: Unit = "transcript"
    stratum: int
    drawn: Focus
    chance: float | None = Field(default=None, ge=0, le=1)
    replicate: int = Field(default=0, ge=0, le=1)


class KnownItem(_PlanPart):
    """A transcript with known answers, whose answers are never counted as ratings.

    Attributes:
        id: opaque, as of an :class:`PlanItem`.
        transcript: id of the transcript.
        unit: as of an :class:`PlanItem`.
        content: the transcript (``Transcript.to_json``) where it isn't one of the run's.
        answers: rubric → the level or label; in codes mode, code → turn index (as text) → label; in findings mode,
            rubric → list of ``{"category": …, "text": …}``; by points and links, rubric → field → choice.
    """

    id: str
    transcript: str
    unit: Unit = "transcript"
    content: str | None = None
    answers: dict[str, Any]


class TrainingItem(KnownItem):
    """A known item that everyone rates first, and knows to be training.

    Attributes:
        again: whether it is of the second set, which only who fails the first is shown.
    """

    again: bool = False


class GoldItem(KnownItem):
    """A known item hidden among the others: nothing that raters see tells it from them."""


class Opinion(_PlanPart):
    """What one of a unit's raters said by a rubric, as it is shown to who settles it.

    Attributes:
        answer: the level or label, as a choice of the page.
        reason: what the rater wrote; may be empty.
    """

    answer: str
    reason: str = ""


class LinkedLists(_PlanPart):
    """The two lists of a case whose entries are linked; or in an audit, a judge's list.

    Attributes:
        rows: the entries that are linked, as texts; none where the case has none, and nothing is asked.
        targets: what they may be linked to, as texts; in a judge's list, the label of each entry.
    """

    rows: tuple[str, ...]
    targets: tuple[str, ...]


class RaterStanding(_PlanPart):
    """What was decided about a rater; see :func:`~bedside.annotation.reassignment.decide`.

    Attributes:
        let_in: whether the rater goes on without having passed the training.
        excluded: whether the rater is asked nothing more, and what they said doesn't count.
        retrained: from when on answers to the training set count, as ISO 8601; empty where all do.
    """

    let_in: bool = False
    excluded: bool = False
    retrained: str = ""


class AnnotationPlan(_PlanPart):
    """Who rates what.

    Attributes:
        format: of the file; in 1, units of a case and stratum were drawn together, in 2 each is drawn by itself.
        mode: ``rate`` (blind), ``audit`` (the judge's score and reason are shown), ``findings`` (concerns are listed),
            ``codes`` (turns are coded), ``pairs`` (of two transcripts, the better is named, blind) or ``adjudicate``
            (what raters said is shown, and the final label is given).
        run: :func:`run_identity` of the run.
        round: the name of the round of annotation; see :func:`round_of`.
        rubrics: what is asked, in the order it is shown.
        wholes: sheets with a mean, and flows: what is computed of answers to their parts, which stand in ``rubrics``.
        criteria: item → rubric of points → the criteria of its case.
        lists: item → rubric of pairs or of an index → the lists of its case; in audits, of a list → the judge's.
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
        training_kappa: pooled kappa with the known answers that a rater must reach in training; None for any.
        gold: known items hidden among the others.
        opinions: in adjudicate mode, item → field to be settled → what its raters said, in shuffled order.
        agreed: in adjudicate mode, item → field of the case's own ones → what all raters chose or wrote there.
        items: what is rated, in the order of their ids.
        assignment: rater → ids in the order they are shown: the training set, then the rater's items, shuffled, with
            the gold items among them.
        settled: rater → ids of those of the rater's items whose lists leave nothing to ask; that is their answer.
        standings: rater → what was decided about them since; nothing in a plan as it was drawn.
        withdrawn: share that nobody has, as its rater withdrew → :func:`name_digest` of the rater's name.
        drawn_seal: the seal as the plan was drawn, where a person's data were removed from it since; else empty.
        folder: where the run was when the plan was drawn, from the plan's file; empty where that isn't known.
        seal: SHA-256 (hex) of all the rest but the folder.
    """

    format: Literal[1, 2] = 2
    mode: Mode
    run: str
    round: RoundName = ""
    rubrics: tuple[PlannedRubric, ...] = Field(min_length=1)
    wholes: tuple[PlannedRubric, ...] = ()
    criteria: dict[str, dict[str, tuple[PointCriterion, ...]]] = {}
    lists: dict[str, dict[str, LinkedLists]] = {}
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
    training_kappa: float | None = Field(default=None, ge=-1, le=1)
    gold: tuple[GoldItem, ...] = ()
    opinions: dict[str, dict[str, tuple[Opinion, ...]]] = {}
    agreed: dict[str, dict[str, str]] = {}
    items: tuple[PlanItem, ...]
    assignment: dict[str, tuple[str, ...]]
    settled: dict[str, tuple[str, ...]] = {}
    standings: dict[RaterName, RaterStanding] = {}
    withdrawn: dict[RaterName, str] = {}
    drawn_seal: str = ""
    folder: str = Field(default="", pattern=r"^[^\x00]*$")
    seal: str = ""

    @model_validator(mode="after")
    def _belongs(self) -> Self:
        names = {
            "rubric": [planned.rubric.name for planned in self.rubrics],
            "rater": [rater.casefold() for rater in self.raters],
        }
        for kind, names_of_kind in names.items():
            doubled = [name for name, count in Counter(names_of_kind).items() if count > 1]
            if doubled:
                raise ValueError(f"the {kind} {doubled[0]} is there twice")
        check_rubrics(self.mode, [planned.rubric for planned in self.rubrics])
        ids = [item.id for item in self.everything]
        if len(set(ids)) != len(ids):
            raise ValueError("an item's id is there twice")
        if set(self.assignment) != set(self.raters):
            raise ValueError("the assignment is not of the plan's raters")
        for rater, order in (*self.assignment.items(), *self.settled.items()):
            if not set(ids).issuperset(order) or len(set(order)) != len(order):
                raise ValueError(f"the assignment of {rater} names an unknown item, or one twice")
        if any(not 0 <= item.stratum < len(self.strata) for item in self.items):
            raise ValueError("an item is of an unknown stratum")
        if (self.mode == "audit") != (self.judge is not None):
            raise ValueError("an audit names the judge whose scores are shown, and no other plan does")
        if self.known and self.mode in ("audit", "pairs", "adjudicate"):
            raise ValueError(f"a plan in mode {self.mode} has no training set or gold items")
        if not set(names["rubric"]).issuperset(
            part.name for planned in self.wholes for part in planned.rubric.question_rubrics
        ):
            raise ValueError("the plan doesn't ask all that a sheet or flow is computed of")
        listed = (*LINKED_KINDS, *(("list",) if self.mode == "audit" else ()))
        for of_items, kinds in ((self.criteria, ("points",)), (self.lists, listed)):
            own = {planned.rubric.name for planned in self.rubrics if planned.rubric.kind in kinds}
            needed = {
                item.id: own.intersection(self.disputed(item.id)) if self.mode == "adjudicate" else own
                for item in self.everything
            }
            if {name: of for name, of in needed.items() if of} != {name: set(of) for name, of in of_items.items()}:
                raise ValueError(f"the criteria or lists are not of the items that {' and '.join(kinds)} are asked of")
        if set(self.opinions) != ({item.id for item in self.items} if self.mode == "adjudicate" else set()):
            raise ValueError("what raters said is not of the items that are adjudicated")
        fields = {field for by_field in self.opinions.values() for field in by_field}
        if any(not {field, field.partition("__")[0]}.intersection(names["rubric"]) for field in fields):
            raise ValueError("raters said something by an unknown rubric")
        return self

    @cached_property
    def questions(self) -> tuple[Rubric, ...]:
        """What is asked, in the order it is shown: the rubrics, or of pairs, which is better by each of them."""
        rubrics = (planned.rubric for planned in self.rubrics)
        return tuple(map(preference_rubric, rubrics) if self.mode == "pairs" else rubrics)

    @cached_property
    def flow_of(self) -> Mapping[str, Rubric]:
        """The name of each question of a flow → the flow."""
        flows = (planned.rubric for planned in self.wholes if planned.rubric.kind == "flow")
        return {part.name: flow for flow in flows for part in flow.question_rubrics}

    @cached_property
    def by_name(self) -> Mapping[str, Rubric]:
        """What is asked, by name."""
        return {rubric.name: rubric for rubric in self.questions}

    def of_case(self, rubric: Rubric) -> bool:
        """Whether a rubric's questions are those of an item's own case."""
        return rubric.kind in CASE_KINDS and self.mode != "findings"

    def disputed(self, item: str) -> set[str]:
        """In adjudicate mode, the rubrics by which there is something to settle of an item."""
        return rubrics_of(self.opinions.get(item, {}), self.questions)

    def asked_of(self, item: str, rubric: Rubric) -> tuple[AskedField, ...]:
        """What a rubric of :data:`~bedside.annotation.fields.CASE_KINDS` asks of an item; of adjudications, where its
        raters differ."""
        every = self.every_of(item, rubric)
        if self.mode == "adjudicate":
            return tuple(asked for asked in every if asked.name in self.opinions[item])
        return every

    def every_of(self, item: str, rubric: Rubric) -> tuple[AskedField, ...]:
        """The same, and in adjudications what its raters agree on, too."""
        if rubric.kind == "points":
            return tuple(point_fields(rubric, self.criteria.get(item, {}).get(rubric.name, ())))
        lists = self.lists.get(item, {}).get(rubric.name)
        if rubric.kind == "list":
            return tuple(list_fields(rubric, lists.rows if lists else ()))
        return () if lists is None else tuple(link_fields(rubric, lists.rows, lists.targets))

    def fields_of(self, item: str, rubric: Rubric) -> list[str]:
        """The fields that hold answers by a rubric: one, or those of what it asks of the item's case."""
        return [asked.name for asked in self.asked_of(item, rubric)] if rubric.kind in CASE_KINDS else [rubric.name]

    @property
    def known(self) -> tuple[KnownItem, ...]:
        """All that is shown for what raters make of known answers: training and gold."""
        return (*self.training, *self.gold)

    @property
    def everything(self) -> tuple[PlanItem | KnownItem, ...]:
        """The training set, and then the items, with the gold ones among them, by id."""
        others: list[PlanItem | KnownItem] = [*self.items, *self.gold]
        return (*self.training, *sorted(others, key=lambda item: item.id))

    @cached_property
    def by_id(self) -> Mapping[str, PlanItem | KnownItem]:
        """Items, training and gold items by their id."""
        return {item.id: item for item in self.everything}

    @property
    def first_training(self) -> list[str]:
        """The ids of the training set that everyone begins with."""
        return [item.id for item in self.training if not item.again]

    def standing(self, rater: str) -> RaterStanding:
        """What was decided about a rater."""
        return self.standings.get(rater, RaterStanding())

    @property
    def people(self) -> tuple[str, ...]:
        """The raters who are somebody: all but shares whose raters withdrew."""
        return tuple(rater for rater in self.raters if rater not in self.withdrawn)

    @cached_property
    def raters_of(self) -> Mapping[str, tuple[str, ...]]:
        """Item's id → its raters."""
        raters_by_item: dict[str, list[str]] = {}
        for rater in self.raters:
            for item in self.assignment.get(rater, ()):
                raters_by_item.setdefault(item, []).append(rater)
        return {item: tuple(raters) for item, raters in raters_by_item.items()}


def rubrics_of(fields: Collection[str], rubrics: Iterable[Rubric]) -> set[str]:
    """The rubrics of fields that hold answers, by name."""
    of_case = {field.partition("__")[0] for field in fields}
    return {one.name for one in rubrics if one.name in fields or (one.kind in CASE_KINDS and one.name in of_case)}


def point_fields(rubric: Rubric, criteria: Sequence[PointCriterion]) -> Iterator[AskedField]:
    """What is asked of each criterion of a case, by a rubric of points."""
    for place, criterion in enumerate(criteria):
        yield AskedField(code_field(rubric.name, place), criterion.criterion, choices(rubric), said=True)


def check_rubrics(mode: Mode, rubrics: Sequence[Rubric]) -> None:
    """Say whether people can answer rubrics in a mode, all of them on one page.

    Raises:
        ValueError: they can't.
    """
    for rubric in rubrics:
        if rubric.kind not in KINDS[mode]:
            kinds = " or ".join(KINDS[mode])
            raise ValueError(f"{rubric.name} is of kind {rubric.kind}; mode {mode} takes rubrics of kind {kinds}")
        if rubric.kind == "list":
            entry_part(rubric)
        if rubric.kind in LINKED_KINDS:
            link_form(rubric)
        reason = incomparable(rubric) if mode == "pairs" else None
        if reason is not None:
            raise ValueError(f"two conversations can't be compared by {rubric.name}: {reason}")
        if mode == "codes" and (rubric.unit != "turn" or rubric.role is None):
            raise ValueError(f"{rubric.name} is not about the turns of a role")
    if len(rubrics) > 1 and any(rubric.kind == "list" for rubric in rubrics):
        raise ValueError(f"mode {mode} takes one rubric where it is a list")
    turns = [rubric for rubric in rubrics if rubric.unit == "turn"]
    if mode != "codes" and 0 < len(turns) < len(rubrics):
        names = ", ".join(rubric.name for rubric in turns)
        raise ValueError(f"{names} is about turns, and others about transcripts: make a plan for each")
    if mode != "codes" and len({rubric.role for rubric in turns}) > 1:
        raise ValueError("the rubrics are about turns of different roles: make a plan for each")


def run_identity(run: Run) -> str:
    """A hash (hex) of the ids and contents of a run's transcripts: the same wherever the run is, whatever is rated."""
    return transcripts_identity(run.index)


def transcripts_identity(index: pl.DataFrame) -> str:
    """The same of a table of transcripts."""
    rows = sorted(index.select("id", "hash").iter_rows())
    return hashlib.sha256(json.dumps(rows, ensure_ascii=False).encode()).hexdigest()


def plan_hash(plan: AnnotationPlan) -> str:
    """The plan's own name: the first 12 digits of its seal."""
    return (plan.drawn_seal or plan.seal)[:12]


def round_of(plan: AnnotationPlan) -> str:
    """The round of annotation that the plan's ratings are from: as it is named, else a round of the plan's own."""
    return plan.round or f"plan-{plan_hash(plan)}"


def page_version(plan: AnnotationPlan) -> str:
    """What answers on one labelling page have in common, as 12 hexadecimal digits: mode, rubrics and their wording."""
    asked = [plan.mode, *([planned.rubric.name, planned.version] for planned in (*plan.rubrics, *plan.wholes))]
    return hashlib.sha256(json.dumps(asked).encode()).hexdigest()[:12]


def rater_of(plan: AnnotationPlan, name: str, where: str) -> str:
    """As :func:`known_rater`.

    Raises:
        InputError: there is none.
    """
    rater = known_rater(plan, name)
    if rater is None:
        raise InputError(
            f"{name!r} is not a rater of the plan", where=where, todo=f"its raters: {', '.join(plan.people)}"
        )
    return rater


def known_rater(plan: AnnotationPlan, name: str) -> str | None:
    """The plan's rater of this name, whatever its case; of somebody who withdrew, the share they had; None where
    there is none."""
    name = name.strip()
    rater = {rater.casefold(): rater for rater in plan.raters}.get(name.casefold())
    if rater is None and plan.withdrawn:
        digest = name_digest(plan, name)
        rater = next((share for share, own in plan.withdrawn.items() if own == digest), None)
    return rater


def name_digest(plan: AnnotationPlan, name: str) -> str:
    """By what a plan knows the name of somebody who withdrew, without holding it: the SHA-256 of its first seal and the
    name, whatever its case."""
    return hashlib.sha256(f"{plan.drawn_seal or plan.seal}\n{name.strip().casefold()}".encode()).hexdigest()


def planned_rubrics(rubrics: Sequence[Rubric]) -> tuple[PlannedRubric, ...]:
    """Rubrics as a plan holds them: what is for judges alone is no part of it."""
    asked = [rubric.for_people for rubric in rubrics]
    return tuple(PlannedRubric(version=rubric.version, rubric=rubric) for rubric in asked)


def opaque_id(*parts: object) -> str:
    """A name that says nothing of what it names to those who don't have the run.

    It begins with a letter: a spreadsheet takes 2829345e7299 for a number, and can't give it back.
    """
    return f"i{hashlib.sha256(chr(10).join(map(str, parts)).encode()).hexdigest()[:11]}"

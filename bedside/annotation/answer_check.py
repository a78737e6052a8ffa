"""Whether an answer can be one to the plan's questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bedside.annotation.annotation_plan import AnnotationPlan
from bedside.annotation.answers import RaterAnswer, marked_turn
from bedside.annotation.fields import (
    CASE_KINDS,
    LISTED,
    MARKED_MODES,
    NOTES,
    NOTHING,
    REASONED_MODES,
    agree_field,
    choices,
    entry_fields,
    evidence_field,
    reason_field,
)
from bedside.annotation.items import SHOWN, most_asked
from bedside.core.errors import InputError, one_of
from bedside.judges.rubrics.answer_form import LINKED_KINDS
from bedside.judges.rubrics.rubric import Rubric, link_form
from bedside.ratings.rubric_metrics import AGREE, DISAGREE


class AnswerCheck:
    """Says whether an answer can be one to the plan's questions.

    Args:
        plan: the plan.
        positions: :func:`coded_positions`; with None, how many turns there are is not looked at.
    """

    def __init__(self, plan: AnnotationPlan, positions: Mapping[str, Mapping[str, Sequence[int]]] | None) -> None:
        self._single: dict[str, frozenset[str]] = {}
        self._several: dict[str, frozenset[str]] = {}
        self._texts: set[str] = {NOTES}
        self._marks: set[str] = set()
        self._codes: dict[str, tuple[str, frozenset[str]]] = {}
        self._positions = positions
        self._plan = plan
        self._of_case: dict[str, Rubric] = {}
        for rubric in plan.questions:
            allowed = frozenset(choice for choice, _ in choices(rubric))
            if plan.mode == "findings":
                self._single[rubric.name] = frozenset((LISTED, NOTHING))
                self._texts |= set(entry_fields(rubric))
            elif rubric.kind in CASE_KINDS:
                self._of_case[rubric.name] = rubric
                fields = [asked.name for asked in most_asked(plan, rubric) if asked.said]
                self._texts |= {*map(reason_field, fields), *(entry_fields(rubric) if rubric.kind == "list" else ())}
                if rubric.kind in LINKED_KINDS and link_form(rubric).quoted:
                    self._marks |= set(map(evidence_field, fields))
                continue
            elif plan.mode == "codes":
                self._codes[rubric.name] = (str(rubric.role), allowed)
            elif rubric.kind == "set":
                self._several[rubric.name] = allowed
            else:
                self._single[rubric.name] = allowed
            if plan.mode in REASONED_MODES:
                self._texts.add(reason_field(rubric.name))
            if plan.mode in MARKED_MODES:
                self._marks.add(evidence_field(rubric.name))
            if plan.mode == "audit":
                self._single[agree_field(rubric.name)] = frozenset((AGREE, DISAGREE))

    def check(self, answer: RaterAnswer) -> None:
        """Refuse what the plan's page can't have given.

        Raises:
            InputError: an unknown field or choice, or several where one is asked for; the place is named.
        """
        for name, chosen in answer.choices.items():
            if name not in self._several and name.rpartition("__")[0] not in self._codes and len(chosen) > 1:
                raise InputError(
                    f"{name} has {len(chosen)} choices ({', '.join(chosen)})",
                    where=answer.where,
                    todo="leave one of them",
                )
            allowed = self._allowed(name, answer)
            for choice in chosen:
                one_of(
                    choice, allowed, f"{name} choice", InputError, where=answer.where,
                    todo=f"its choices are {', '.join(sorted(allowed))}; was the page changed?",
                )  # fmt: skip
        for name, texts in answer.texts.items():
            if name in self._marks:
                self._check_marks(name, texts, answer)
            elif name not in self._texts:
                raise self._unknown_field(name, answer)

    def _check_marks(self, name: str, marks: Sequence[str], answer: RaterAnswer) -> None:
        """Refuse marks that are of no turn that was shown."""
        turns = None if self._positions is None else self._positions[answer.item][SHOWN]
        for mark in marks:
            try:
                turn = marked_turn(mark)
            except ValueError as error:
                raise InputError(
                    f"{error} in {name}", where=answer.where, todo="give the numbers of turns, counted from 0"
                ) from error
            if turns is not None and turn not in turns:
                raise InputError(
                    f"{name} names turn {turn}, and turns 0 to {len(turns) - 1} were shown",
                    where=answer.where,
                    todo="name the turns by the numbers beside them",
                )

    def _allowed(self, name: str, answer: RaterAnswer) -> frozenset[str]:
        """The choices of a field."""
        for allowed_by_field in (self._single, self._several):
            if name in allowed_by_field:
                return allowed_by_field[name]
        rubric = self._of_case.get(name.partition("__")[0])
        if rubric is not None:
            asked = self._plan.asked_of(answer.item, rubric)
            for field in asked:
                if field.name == name:
                    return frozenset(choice for choice, _ in field.choices)
            count = sum(field.said for field in asked)
            what = "criteria" if rubric.kind == "points" else "entries"
            raise InputError(f"{name} is past the {count} {what} of the case", where=answer.where, todo="leave it open")
        code, _, position = name.rpartition("__")
        if code not in self._codes or not position.isdecimal() or len(position) > 9:
            raise self._unknown_field(name, answer)
        role, allowed = self._codes[code]
        if self._positions is None:
            return allowed
        turns = len(self._positions[answer.item][role])
        if int(position) >= turns:
            raise InputError(
                f"{name} is past the {turns} turns of the {role}", where=answer.where, todo="was the page changed?"
            )
        return allowed

    def _unknown_field(self, name: str, answer: RaterAnswer) -> InputError:
        return InputError(
            f"the plan does not ask for {name!r}",
            where=answer.where,
            todo="was the page changed, or is it another plan's?",
        )

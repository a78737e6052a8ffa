"""An interview written from a note: decision tree, dialogue, check of the findings, critic, edits, and check again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import orjson
from pydantic import Field, ValidationError

from bedside.metrics.protocols.label_files import Strict, Text, complaint
from bedside.simulation.simulators.calls import Exchange, Line
from bedside.simulation.simulators.case import Case, ClinicalNote
from bedside.simulation.simulators.contract import UnusableConversationError
from bedside.simulation.simulators.ledger import Ledger
from bedside.simulation.simulators.note2chat.finding_places import (
    FindingPlace,
    diagnosis_rank,
    finding_places,
    numbered,
)
from bedside.simulation.simulators.note2chat.vignette import ask_evaluator, folded

# -- What a critic changes in a generated interview -----------------------------------------------------


class AddedExchange(Strict):
    """A question and its answer that are put after a message of the patient."""

    add_turn: int = Field(strict=True)
    doctor: str
    patient: str
    comment: str = ""


class RevisedMessage(Strict):
    """A message in other words."""

    revise_turn: int = Field(strict=True)
    content: str
    comment: str = ""


Edit = AddedExchange | RevisedMessage


@dataclass(frozen=True, slots=True)
class EditedDialogue:
    """An interview with its edits.

    Attributes:
        lines: it.
        taken: the edits that were made.
        refused: those that weren't, each with the reason.
    """

    lines: tuple[Line, ...]
    taken: tuple[Edit, ...]
    refused: tuple[tuple[Edit, str], ...]


def read_edits(value: Any) -> tuple[Edit, ...]:
    """The edits of a critic's reply.

    Raises:
        ValueError: it is no list of edits.
    """
    items = value.get("edits") if isinstance(value, dict) else None
    if not isinstance(items, list):
        raise ValueError('"edits" must be a list')
    edits: list[Edit] = []
    for number, item in enumerate(items, start=1):
        form = AddedExchange if isinstance(item, dict) and "add_turn" in item else RevisedMessage
        try:
            edits.append(form.model_validate(item))
        except ValidationError as error:
            raise ValueError(f"edit {number} can't be read ({complaint(error)})") from None
    return tuple(edits)


def edited(lines: Sequence[Line], edits: Sequence[Edit]) -> EditedDialogue:
    """An interview with a critic's edits.

    All numbers are those of the interview before any edit. The opening and the diagnosis stay as they are, and an
    exchange is added only after a message of the patient, so that the roles go on to alternate. What would break that
    is refused; of two exchanges after the same message the first comes first.

    Args:
        lines: the interview, the patient first, the diagnosis last, the roles in turn.
        edits: what is to be changed.
    """
    texts = {}
    added: dict[int, list[AddedExchange]] = {}
    taken: list[Edit] = []
    refused: list[tuple[Edit, str]] = []
    for edit in edits:
        reason = _refusal(lines, edit)
        if reason is None and isinstance(edit, RevisedMessage) and edit.revise_turn in texts:
            reason = "revised before"
        if reason is not None:
            refused.append((edit, reason))
            continue
        taken.append(edit)
        if isinstance(edit, RevisedMessage):
            texts[edit.revise_turn] = edit.content.strip()
        else:
            added.setdefault(edit.add_turn, []).append(edit)
    whole: list[Line] = []
    for index, line in enumerate(lines):
        whole.append(Line(line.role, texts.get(index, line.text)))
        for exchange in added.get(index, ()):
            whole.append(Line("clinician", exchange.doctor.strip()))
            whole.append(Line("patient", exchange.patient.strip()))
    return EditedDialogue(tuple(whole), tuple(taken), tuple(refused))


def _refusal(lines: Sequence[Line], edit: Edit) -> str | None:
    """Why an edit isn't made; None where it is."""
    last = len(lines) - 1
    if isinstance(edit, RevisedMessage):
        index, texts = edit.revise_turn, [edit.content]
    else:
        index, texts = edit.add_turn, [edit.doctor, edit.patient]
    if not 0 <= index <= last:
        return "no such message"
    if not all(text.strip() for text in texts):
        return "no words"
    if isinstance(edit, RevisedMessage) and index == 0:
        return "the opening stays"
    if index == last:
        return "the diagnosis stays last"
    if isinstance(edit, AddedExchange) and lines[index].role != "patient":
        return "not after a message of the patient"
    return None


# -- The decision tree that a generated interview is written along --------------------------------------

#: Questions in a row that a tree has at most.
MOST_LEVELS = 60


class TreeDiagnosis(Strict):
    """A candidate at the end of a path."""

    condition: Text
    confidence: Literal["high", "moderate", "low"]
    is_final: bool = Field(strict=True)


class TreeLeaf(Strict):
    """Where a path ends."""

    diagnoses: tuple[TreeDiagnosis, ...] = Field(min_length=1)


class TreeBranches(Strict):
    """What follows an answer."""

    yes: TreeNode | TreeLeaf | None = None
    no: TreeNode | TreeLeaf | None = None


class TreeNode(Strict):
    """What is asked about, and what follows."""

    criteria: Text
    branches: TreeBranches


def read_tree(value: Any, diagnosis: str) -> TreeNode:
    """A decision tree from an object.

    Args:
        value: its first node, as it was replied.
        diagnosis: what one of its leaves must settle.

    Raises:
        ValueError: it is no such tree: a node has no branch, no leaf is final, the diagnosis is in none.
    """
    if _levels(value) > MOST_LEVELS:
        raise ValueError(f"more than {MOST_LEVELS} questions follow each other")
    try:
        tree = TreeNode.model_validate(value)
    except ValidationError as error:
        raise ValueError(f"it is no decision tree ({complaint(error)})") from None
    for node in _nodes(tree):
        if node.branches.yes is None and node.branches.no is None:
            raise ValueError(f"nothing follows the question {node.criteria!r:.60}")
    final = [entry for leaf in _leaves(tree) for entry in leaf.diagnoses if entry.is_final]
    if not final:
        raise ValueError("no leaf has a final diagnosis")
    if folded(diagnosis) not in {folded(entry.condition) for entry in final}:
        raise ValueError("the diagnosis that it is to lead to is not final in any leaf, word for word")
    return tree


def _levels(value: Any) -> int:
    """How deep an object's nodes go; no deeper than one more than may be."""
    level, nodes = 0, [value]
    while nodes and level <= MOST_LEVELS:
        level += 1
        branches = [node.get("branches") for node in nodes if isinstance(node, Mapping)]
        nodes = [child for branch in branches if isinstance(branch, Mapping) for child in branch.values()]
    return level


def _children(node: TreeNode) -> Iterator[TreeNode | TreeLeaf]:
    yield from (child for child in (node.branches.yes, node.branches.no) if child is not None)


def _nodes(tree: TreeNode) -> Iterator[TreeNode]:
    yield tree
    for child in _children(tree):
        if isinstance(child, TreeNode):
            yield from _nodes(child)


def _leaves(tree: TreeNode) -> Iterator[TreeLeaf]:
    for child in _children(tree):
        if isinstance(child, TreeLeaf):
            yield child
        else:
            yield from _leaves(child)


TreeBranches.model_rebuild()


# -- An interview written from a note -------------------------------------------------------------------

T = TypeVar("T")
#: Rounds of the critic that there can be.
MOST_ROUNDS = 3
#: Diagnoses at the end.
RANKED = 5
#: What the diagnosis message begins with, by language.
HEADINGS = {"en": "The five likeliest diagnoses:", "zh": "最可能的五个诊断："}
_NOTHING = {"en": "(none)", "zh": "（无）"}
_COLONS = {"en": ": ", "zh": "："}


@dataclass(frozen=True, slots=True)
class GuidedDialogue:
    """An interview that was written from a note.

    Attributes:
        lines: it, the diagnosis last.
        diagnoses: the diagnoses that it ends with, the likeliest first.
        places: where each finding of the case is conveyed.
        rank: the true diagnosis's position among the diagnoses, from 0; None where it is not among them.
        states: how it came about.
        flags: what is to be counted of it.
    """

    lines: tuple[Line, ...]
    diagnoses: tuple[str, ...]
    places: tuple[FindingPlace, ...]
    rank: int | None
    states: tuple[dict[str, Any], ...]
    flags: dict[str, int]


def guided_dialogue(case: Case, *, rounds: int = 1) -> Exchange[GuidedDialogue]:
    """An interview written from a case's note.

    After each round of the critic the findings are looked for again. A round after which the doctor states a finding
    before the patient does, which it didn't before, is undone. The next round is had only where findings are missing
    and the one before left fewer of them.

    Args:
        case: it has a note with vignette and findings, and its diagnosis.
        rounds: rounds of the critic at most.

    Raises:
        UnusableConversationError: a reply can't be used, three times.
    """
    writing = _Writing(case)
    return (yield from writing.ledger.keep(writing.written(rounds)))


class _Writing:
    """One interview while it is written."""

    def __init__(self, case: Case) -> None:
        if case.note is None or case.hidden.diagnosis is None:
            raise UnusableConversationError("material", "no note or no diagnosis", case.id)
        self.note: ClinicalNote = case.note
        self.language = case.language
        self.diagnosis = case.hidden.diagnosis
        self.findings = [finding.text for finding in case.note.findings]
        self.ledger = Ledger()

    def written(self, rounds: int) -> Exchange[GuidedDialogue]:
        """The whole of it."""
        tree = yield from self._tree()
        self.ledger.states.append({"purpose": "decision_tree", "tree": tree.model_dump(exclude_none=True)})
        lines, diagnoses = yield from self._dialogue(tree)
        places = yield from finding_places(lines, self.findings, self.language)
        for number in range(1, rounds + 1):
            before = places
            lines, places = yield from self._round(lines, before, number)
            missing = sum(place.missing for place in places)
            if not missing or missing >= sum(place.missing for place in before):
                break
        rank = yield from diagnosis_rank(self.diagnosis, diagnoses, self.language)
        counts = {
            "finding missing": sum(place.missing for place in places),
            "doctor states a finding first": sum(place.known_early for place in places),
        }
        self.ledger.flags.update({name: count for name, count in counts.items() if count})
        return GuidedDialogue(lines, diagnoses, places, rank, tuple(self.ledger.states), dict(self.ledger.flags))

    def _tree(self) -> Exchange[TreeNode]:
        return (
            yield from self._asked(
                "decision_tree",
                1,
                lambda value: read_tree(value.get("tree") if isinstance(value, dict) else None, self.diagnosis),
                vignette=self.note.vignette,
                diagnosis=self.diagnosis,
            )
        )

    def _dialogue(self, tree: TreeNode) -> Exchange[tuple[tuple[Line, ...], tuple[str, ...]]]:
        lines, diagnoses = yield from self._asked(
            "guided_dialogue",
            1,
            _read_dialogue,
            complaint=self.note.chief_complaint,
            vignette=self.note.vignette,
            tree=orjson.dumps(tree.model_dump(exclude_none=True)).decode(),
        )
        conclusion = Line("clinician", diagnosis_message(diagnoses, self.language))
        return (*lines, conclusion), tuple(disease for disease, _ in diagnoses)

    def _round(
        self, lines: tuple[Line, ...], places: Sequence[FindingPlace], number: int
    ) -> Exchange[tuple[tuple[Line, ...], tuple[FindingPlace, ...]]]:
        """A round of the critic: the interview after it, and where it conveys the findings."""
        before = tuple(places)
        edits = yield from self._asked(
            "critic",
            number,
            read_edits,
            vignette=self.note.vignette,
            missing=self._listed([place.missing for place in before]),
            known_early=self._listed([place.known_early for place in before]),
            conversation=numbered(lines[:-1], self.language),
        )
        whole = edited(lines, edits)
        for _, reason in whole.refused:
            self.ledger.flags[f"edit refused: {reason}"] += 1
        if whole.lines == lines:
            self._keep_round(number, whole, before, before, undone=False)
            return lines, before
        ordinal = 1 + number * len(self.findings)
        after = yield from finding_places(whole.lines, self.findings, self.language, ordinal=ordinal)
        undone = any(new.known_early and not old.known_early for old, new in zip(before, after, strict=True))
        self._keep_round(number, whole, before, after, undone=undone)
        if undone:
            self.ledger.flags["round undone: the doctor states a finding first"] += 1
            return lines, before
        return whole.lines, after

    def _listed(self, marks: Sequence[bool]) -> str:
        """The findings that are marked, one a line."""
        texts = [f"- {text}" for text, mark in zip(self.findings, marks, strict=True) if mark]
        return "\n".join(texts) or _NOTHING[self.language]

    def _keep_round(
        self,
        number: int,
        whole: EditedDialogue,
        before: Sequence[FindingPlace],
        after: Sequence[FindingPlace],
        *,
        undone: bool,
    ) -> None:
        self.ledger.states.append(
            {
                "purpose": "critic",
                "round": number,
                "undone": undone,
                "edits": [edit.model_dump() for edit in whole.taken],
                "refused": [{**edit.model_dump(), "reason": reason} for edit, reason in whole.refused],
                "missing_before": sum(place.missing for place in before),
                "missing_after": sum(place.missing for place in after),
                "known_early_before": sum(place.known_early for place in before),
                "known_early_after": sum(place.known_early for place in after),
            }
        )

    def _asked(self, purpose: str, ordinal: int, read: Callable[[Any], T], **variables: str) -> Exchange[T]:
        material = {**variables, "language": self.language}
        return (yield from ask_evaluator(purpose, ordinal, self.language, read, variables=variables, material=material))


def diagnosis_message(diagnoses: Sequence[tuple[str, str]], language: str) -> str:
    """The message that an interview ends with: heading, and diagnoses with their reasons, numbered."""
    listed = (
        f"{rank}. {disease}{_COLONS[language]}{reason}" if reason else f"{rank}. {disease}"
        for rank, (disease, reason) in enumerate(diagnoses, start=1)
    )
    return "\n".join((HEADINGS[language], *listed))


def _read_dialogue(value: Any) -> tuple[tuple[Line, ...], tuple[tuple[str, str], ...]]:
    """Messages and diagnoses of a reply."""
    value = value if isinstance(value, dict) else {}
    messages, diagnoses = value.get("conversation"), value.get("preliminary_diagnoses")
    if not isinstance(messages, list) or not isinstance(diagnoses, list):
        raise ValueError('"conversation" and "preliminary_diagnoses" must be lists')
    lines: list[Line] = []
    for number, message in enumerate(messages):
        role, text = _texts(message, "role", "content", f"message {number}")
        if role != ("doctor" if number % 2 else "patient"):
            raise ValueError(f"message {number} must be the {'doctor' if number % 2 else 'patient'}'s")
        lines.append(Line("clinician" if number % 2 else "patient", text))
    if len(lines) < 3 or len(lines) % 2 == 0:
        raise ValueError("the conversation must begin and end with the patient, and hold a question")
    if len(diagnoses) != RANKED:
        raise ValueError(f"there must be {RANKED} diagnoses, and there are {len(diagnoses)}")
    ranked = [_texts(entry, "disease", "reason", "a diagnosis") for entry in diagnoses]
    if len({disease.casefold() for disease, _ in ranked}) != RANKED:
        raise ValueError("a diagnosis is there twice")
    return tuple(lines), tuple(ranked)


def _texts(item: Any, first: str, second: str, what: str) -> tuple[str, str]:
    values = tuple(item.get(key) for key in (first, second)) if isinstance(item, dict) else (None, None)
    if not all(isinstance(value, str) and value.strip() for value in values):
        raise ValueError(f'{what} must have "{first}" and "{second}"')
    return str(values[0]).strip(), " ".join(str(values[1]).split())

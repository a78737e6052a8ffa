"""The decision tree that a generated interview is written along: its form, checked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from pydantic import Field, ValidationError

from bedside.metrics.protocols.label_files import Strict, Text, complaint
from bedside.simulation.simulators.note2chat.vignette import folded

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

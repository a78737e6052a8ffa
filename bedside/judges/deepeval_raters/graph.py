"""Graphs of decisions of the user's own, as deepeval has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bedside.core.errors import RegistryError
from bedside.judges.llm.deepeval_library import deepeval_module


def graph_object(name: str, graph: Mapping[str, Any]) -> Any:
    """deepeval's ``DeepAcyclicGraph`` of a graph in the form that its ``dag_to_dict`` gives.

    A verdict leads to a score or to another node. deepeval would let it lead to a metric, too, which it makes itself
    and has asked by a model of its own choice: that is refused.

    Args:
        name: the metric's, for messages.
        graph: ``{"nodes": {…}}``.

    Raises:
        RegistryError: the graph is none, or leads to a metric.
    """
    nodes = graph.get("nodes")
    for key, node in nodes.items() if isinstance(nodes, Mapping) else ():
        child = node.get("child") if isinstance(node, Mapping) else None
        if isinstance(child, Mapping) and child.get("type") != "node":
            raise RegistryError(
                f"node {key} leads to a metric",
                where=name,
                todo="let it lead to a score or another node, and ask for the metric beside the graph",
            )
    try:
        return deepeval_module("metrics.dag.serialization").dag_from_dict(dict(graph), multiturn=True)
    except Exception as error:  # whatever deepeval raises at a graph that is none
        raise RegistryError(
            f"deepeval takes no such graph ({error})", where=name, todo="see docs/deepeval.md"
        ) from error

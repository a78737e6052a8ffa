"""Algorithmic metrics: one file per family; pure functions of a transcript."""

from bedside.metrics.contract import FAMILIES, Example, Family, Metric, Parameter
from bedside.ratings.values import Direction, Value, missing

__all__ = ["FAMILIES", "Direction", "Example", "Family", "Metric", "Parameter", "Value", "missing"]

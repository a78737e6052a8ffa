"""Algorithmic metrics: one file per family; pure functions of a transcript."""

from bedside.metrics._contract import (
    FAMILIES,
    Example,
    Family,
    Metric,
    Parameter,
    Value,
    missing,
)

__all__ = ["FAMILIES", "Example", "Family", "Metric", "Parameter", "Value", "missing"]

"""Suites: what a protocol scores and how it is reported, one YAML file each."""

from bedside.suites._model import SUITES, Suite

__all__ = ["SUITES", "Suite"]

"""Suites: what a protocol scores and how it is reported, one YAML file each."""

from bedside.ratings.suites.suite import SUITES, Suite

__all__ = ["SUITES", "Suite"]

"""Probes of a judge: does its level move with what it must not move with, or stand still where it must move?"""

from bedside.tuning.probes.contract import PROBES, Altered, Probe, ProbeMaterial, Unalterable, Variant

__all__ = ["PROBES", "Altered", "Probe", "ProbeMaterial", "Unalterable", "Variant"]

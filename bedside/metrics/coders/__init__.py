"""Coders: give behaviour codes to turns; one file per coder."""

from bedside.metrics.coders.contract import CODERS, Coder, TurnCodes
from bedside.metrics.coders.finder import find_coder
from bedside.metrics.coders.people import people_codes
from bedside.transcripts.transcript import CODE_ROLES, CODES

__all__ = ["CODERS", "CODES", "CODE_ROLES", "Coder", "TurnCodes", "find_coder", "people_codes"]

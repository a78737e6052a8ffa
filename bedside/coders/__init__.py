"""Coders: give behaviour codes to turns; one file per coder."""

from bedside.coders._contract import CODERS, Coder, TurnCodes, find_coder
from bedside.coders._people import people_codes
from bedside.transcripts.model import CODE_ROLES, CODES

__all__ = ["CODERS", "CODES", "CODE_ROLES", "Coder", "TurnCodes", "find_coder", "people_codes"]

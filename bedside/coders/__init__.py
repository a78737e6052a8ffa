"""Coders: give behaviour codes to turns; one file per coder."""

from bedside.coders._contract import CODE_ROLES, CODERS, CODES, Coder, TurnCodes
from bedside.coders._people import people_codes

__all__ = ["CODERS", "CODES", "CODE_ROLES", "Coder", "TurnCodes", "people_codes"]

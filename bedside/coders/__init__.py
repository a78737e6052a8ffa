"""Coders: give behaviour codes to turns; one file per coder."""

from bedside.coders._contract import CODE_ROLES, CODERS, CODES, Coder, TurnCodes

__all__ = ["CODERS", "CODES", "CODE_ROLES", "Coder", "TurnCodes"]

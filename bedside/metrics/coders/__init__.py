"""Coders: give behaviour codes to turns; one file per coder."""

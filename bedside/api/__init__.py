"""The public functions: each answers one question, or does one thing, from its settings."""

"""Rubrics: what people and judges rate by; their checks, and the codebook of behaviour codes."""

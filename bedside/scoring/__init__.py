"""Scoring: transcripts go in, metrics, coders and judges rate them, a run comes out."""

"""Judges: language models that rate transcripts by rubrics and code turns by the codebook."""

"""Judges made better by people's ratings: what is learnt from some of them is shown on the others."""

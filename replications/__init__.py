"""What of the literature can be recomputed: one module a source, each a list of figures beside ours.

``python -m replications DATA`` prints them all; DATA is a folder with ``annomi/annomi_dev.csv`` and ``mdd5k/``. Figures
that need no data are there without it.
"""

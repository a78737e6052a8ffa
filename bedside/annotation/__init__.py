"""Annotation: people rate transcripts of a run, in a labelling page or in files, and their ratings join the run.

A plan (:mod:`~bedside.annotation.annotation_plan`) says who rates what; :mod:`~bedside.annotation.items` makes of it what raters
are shown; :mod:`~bedside.annotation.answers` makes ratings of what they said.
"""

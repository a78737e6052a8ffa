"""Annotation: people rate transcripts of a run, in a labelling page or in files, and their ratings join the run.

A plan (:mod:`~bedside.annotation.annotation_plan`) says who rates what; :mod:`~bedside.annotation.items` makes of it
what raters are shown, on a server (``push``, ``pull``) or in files (``offline_files``);
:mod:`~bedside.annotation.answer_store` keeps what they said, of which :mod:`~bedside.annotation.answer_ratings` makes
ratings.
"""

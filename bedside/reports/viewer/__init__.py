"""Looking at a run conversation by conversation: a local page that changes nothing, and a static copy of it.

What is asked of a run are lazy queries on its tables (:mod:`~bedside.reports.viewer.viewed_run`); of what was said, one
transcript is read at a time. The page gets text and numbers and builds its elements of them, so that no text can become
part of it.
"""

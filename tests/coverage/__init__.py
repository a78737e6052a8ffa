"""A gate of coverage: studies whose truth is known, put to the questions that commands answer, again and again.

A design draws studies; a question answers each by the function that the command of its name calls; checks say whether
what the command would print is right: whether something is found that isn't there, whether an interval holds the truth.
``python -m tests.coverage`` counts them, ``make soak`` demands that each share keeps to its limits.
"""

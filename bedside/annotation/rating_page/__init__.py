"""bedside's own rating page: a small web server on which each rater sees their share of a plan, and nothing else.

What raters type and hand in is on the disk before it is acknowledged, in a database beside the run
(:mod:`~bedside.annotation.rating_page.page_database`); from there it goes into the run
(:mod:`~bedside.annotation.rating_page.page_collection`), whenever no other command holds it.
"""

"""What raters read besides the rubrics: one file of words for each language."""

"""What the rating page says, besides the rubrics: one file of words for each language."""

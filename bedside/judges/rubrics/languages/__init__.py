"""What prompts and rating pages say around a rubric, one file of words for each language."""

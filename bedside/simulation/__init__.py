"""Conversations in the making: actors, the log of what they were asked, many conversations at once, their files."""

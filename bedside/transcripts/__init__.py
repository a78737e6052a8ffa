"""Transcripts: what a conversation is, and how files become conversations."""

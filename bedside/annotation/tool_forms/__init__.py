"""Annotation tools: one file a tool."""

"""The metrics that ship with bedside, one file a family."""

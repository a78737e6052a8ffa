"""Parameter files of the trace, by file name."""

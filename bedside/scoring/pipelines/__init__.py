"""Protocols as pipelines: entries of :mod:`bedside.scoring.pipeline`, one file each."""

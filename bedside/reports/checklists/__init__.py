"""Checklists of reporting guidelines, one YAML file each."""

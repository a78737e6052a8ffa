"""The rubrics that ship with bedside: one YAML file each."""

"""The suites that ship with bedside, one YAML file each."""

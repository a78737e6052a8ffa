"""The probes that ship with bedside, one a file."""

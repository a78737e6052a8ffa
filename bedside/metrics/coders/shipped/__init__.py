"""The coders that ship with bedside, one file each."""

"""Studies made by seeds, changed in ways that say what must become of every number."""

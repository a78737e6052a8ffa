"""Forms that a run is exported in, one folder each; the folder's name is the form's name."""

"""File formats, one file each; the file's name is the format's name."""

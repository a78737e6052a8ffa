"""The forms of files of ratings, one file each."""

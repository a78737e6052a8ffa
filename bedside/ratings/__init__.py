"""Ratings: the one table, the names of raters and units, the run's folder, and files of ratings in their forms."""

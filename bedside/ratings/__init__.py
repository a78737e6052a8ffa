"""Ratings: the one table, the names of raters and units, the run's folder, spreadsheets."""

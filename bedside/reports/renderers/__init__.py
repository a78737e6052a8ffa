"""What a table is written as: one file for each form."""

"""Numbers that the sources of shipped suites printed: a CSV each, with the table or figure of each number."""

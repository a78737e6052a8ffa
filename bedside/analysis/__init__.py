"""Questions put to ratings: agreement, comparison, validation, estimation, drift, deviation, trend, study size."""

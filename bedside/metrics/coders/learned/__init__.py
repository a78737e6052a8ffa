"""Coders that learn from turns that people coded: features, training, and the file of a trained coder."""

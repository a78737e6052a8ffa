"""What every part stands on and what knows no conversation: errors, files, registries, YAML, shapes of JSON, URLs."""

"""What every part stands on, and what knows no conversation: errors, files, registries, strict YAML, shapes of JSON, addresses."""

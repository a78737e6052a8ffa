"""The codebook that judges code turns by: one YAML file per behaviour code, with definitions and examples."""

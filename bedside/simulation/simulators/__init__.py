"""Simulators make conversations: one folder a protocol, its controller and its prompts; see :mod:`.contract`."""

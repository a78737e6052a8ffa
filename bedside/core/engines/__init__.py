"""Engines: what spreads work over processes or machines."""

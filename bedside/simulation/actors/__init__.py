"""Kinds of actors, one file each; see :mod:`bedside.simulation.actor_contract`."""

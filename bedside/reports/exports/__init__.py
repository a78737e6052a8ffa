"""A study given away: a run's conversations and ratings in a form that others' tools read."""

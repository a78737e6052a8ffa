"""bedside scores clinical and counselling conversations and shows how far the scores can be believed."""

__version__ = "0.1.0"

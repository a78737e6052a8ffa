"""Clients of language models, one file for each way of speaking to them."""

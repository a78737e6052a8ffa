"""Asking language models: their names, requests and replies, clients, endpoints, prices."""

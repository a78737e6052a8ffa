"""Asking language models, whatever they are asked: names, requests and replies, clients, endpoints, waiting, prices."""

"""All of bedside, its commands, templates and entries of registries, loaded: who imports this finds them made."""

from __future__ import annotations

import pkgutil
from importlib import import_module

import bedside
from bedside.cli import command_line
from bedside.core.registry import Registry
from bedside.reports.renderers.html import templates

for place in pkgutil.walk_packages(bedside.__path__, "bedside."):
    if not place.name.endswith("__main__"):
        for value in list(vars(import_module(place.name)).values()):
            if isinstance(value, Registry):
                value.all()
dict(command_line().commands)
for name in templates().list_templates():
    templates().get_template(name)

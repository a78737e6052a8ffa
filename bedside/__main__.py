"""bedside as ``python -m bedside``."""

from bedside.cli import main

main()

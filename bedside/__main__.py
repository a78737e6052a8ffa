"""bedside as a program: ``bedside`` and ``python -m bedside``."""

import sys


def main() -> None:
    """Run the command line; Ctrl-C while it is loaded ends it in one line too."""
    try:
        from bedside.cli import main as run
    except KeyboardInterrupt:
        sys.stderr.write("bedside: stopped\n")
        sys.exit(2)
    run()


if __name__ == "__main__":
    main()

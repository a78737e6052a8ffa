"""bedside as a program: ``bedside`` and ``python -m bedside``."""

import gc
import os
import sys

from bedside.core.stopping import stoppable


def main() -> None:
    """Run the command line; Ctrl-C while it is loaded ends it in one line too."""
    # Threads that wait for each other over small matrices take more time than these; it is read where NumPy is loaded.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # What modules make while they are imported stays: to look through it for garbage again and again takes a tenth.
    gc.set_threshold(50_000)
    try:
        with stoppable(process_ends=True):
            from bedside.cli import main as run

            run()
    except KeyboardInterrupt:
        sys.stderr.write("bedside: stopped\n")
        sys.exit(2)


if __name__ == "__main__":
    main()

"""The command line of `trainer`: `python -m espalier`, or the program `espalier`."""

import signal
import sys

from ._native import run


def main() -> int:
    """Runs the command of the process's arguments and returns its exit code."""
    # As in the program `trainer`: the command handles Ctrl-C, or it ends the process.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return run(["espalier", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())

"""Entry point of the program: Ctrl-C while modules are imported prints one line, too."""

from __future__ import annotations

import sys


def main() -> None:
    """Import the commands and run the command line."""
    try:
        from standout.cli.app import main as run
    except KeyboardInterrupt:
        print("standout: stopped", file=sys.stderr)
        sys.exit(130)
    run()


if __name__ == "__main__":  # a check that did nothing would exit with 0, which means pass
    main()

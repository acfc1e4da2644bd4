"""``python -m tui``: the command line from a clone."""

import sys

from tui.cli import main

if __name__ == "__main__":
    sys.exit(main())

"""``python -m idlegap``: the command line."""

import sys

from idlegap.tui.cli import main

sys.exit(main())

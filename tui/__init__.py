"""The terminal: the command line and the live screen. It reads snapshots and imports no torch."""

"""The panels of the live screen, each painted from a snapshot alone."""

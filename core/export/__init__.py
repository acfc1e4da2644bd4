"""Recordings as tables, for other programs."""

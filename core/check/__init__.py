"""Is this machine any good? A short bench, judged line by line."""

"""What events come from: an engine process, an engine in this process, a recording."""

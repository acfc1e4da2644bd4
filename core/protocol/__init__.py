"""What crosses the pipe and fills a recording: events, commands, settings and modes."""

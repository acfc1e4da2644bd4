"""The screen as an app: live, on a recording, and in a browser."""

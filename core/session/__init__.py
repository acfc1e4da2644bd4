"""One state that every event is applied to, and the snapshot that is built from it."""

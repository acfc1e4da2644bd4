"""The latency strip: tokens over time, on an axis that begins at zero."""

"""Pure arithmetic: device time and its gaps, the roofline, statistics, limits. No input or output."""

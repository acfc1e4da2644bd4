"""Results of many machines side by side: who decodes how fast, and what limits whom."""

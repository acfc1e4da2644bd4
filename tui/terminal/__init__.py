"""The terminal itself: input and output, which characters it can show, how it is given back."""

"""How long the GPU idles for the host in each token that a language model decodes, and why.

`core` is the instrument and `tui` the terminal. In a checkout both lie at its top, and the links
beside this file lead there; what is installed lies below `idlegap` alone.
"""

"""What share of a token (0..1) something must take before the screen says that it limits decoding."""

SUBMITS_ALWAYS_SHARE = 0.95
"""From this share of the token on, submitting is the token: a faster GPU cannot show."""

SUBMITS_ONCE_SHARE = 0.05
"""Below this share of the token, submitting does not matter."""

HOST_IDLE_SHARE = 0.25
"""The GPU idles for the host in at least a quarter of the token: more than one mean kernel
gap in a fed queue explains (about a tenth)."""

DEVICE_BUSY_SHARE = 0.80
"""The device computes or is between queued kernels for four fifths of the token: even a
perfect host gains less than a quarter."""

STREAMS_WEIGHTS_SHARE = 0.60
"""Well-tuned decoders reach 70 to 80 % of the weight-stream bound; from 60 % on, bandwidth is
the main cost."""

CONTENDED_SHARE = 0.10
"""Waiting for a CPU for a tenth of the time is more than any mode's own noise."""

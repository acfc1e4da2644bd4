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

CONTENDED_SHARE = 0.05
"""Waiting for a CPU, or being stopped by a quota, for a twentieth of the time. Looked at every quarter
second, two seconds of a calm H200's host never had more than 1.1 %; beside 24 neighbours on 16
cores 68 of 79 looks had more than 5 %, 56 more than 10."""

"""Sentences about a snapshot: what limits decoding, what contends, what would help. They decide nothing."""

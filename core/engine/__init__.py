"""The decode engine: the only place that imports torch and transformers.

The package itself imports neither, so that naming it costs nothing; `worker` imports them on
the decode thread, which owns torch for its whole life.
"""

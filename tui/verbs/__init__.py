"""What idlegap can be asked to do, one verb per file.

A verb's module has `NAME`, `HELP`, `configure(parser)` and `run(arguments) -> exit code`, and
imports nothing heavy before `run`.
"""

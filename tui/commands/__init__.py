"""What idlegap can be asked to do, one verb per file.

A verb is called by the name of its module, which has `HELP`, `configure(parser)` and
`run(arguments) -> exit code`, and imports nothing heavy before `run`.
"""

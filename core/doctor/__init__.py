"""What can be measured on this machine, what cannot, why, and what would change that.

Nothing here imports torch: the engine's part is answered by an engine process, or, where none
is asked, by what is installed.
"""

"""The instrument: decode engine, sensors, what is measured with them, and the events that join them.

Nothing under ``core`` imports ``textual`` or ``tui``; only ``core.engine`` imports torch.
"""

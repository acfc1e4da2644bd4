"""Files and folders of the user, and processes that idlegap starts beside the engine."""

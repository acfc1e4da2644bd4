"""Settings for all tests: nothing depends on how fast this machine is."""

import os

from hypothesis import settings

settings.register_profile("idlegap", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("idlegap")

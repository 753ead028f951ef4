"""Settings for all tests."""

from hypothesis import settings

settings.register_profile("linmax", deadline=None, derandomize=True)  # a first call compiles: no deadline
settings.load_profile("linmax")

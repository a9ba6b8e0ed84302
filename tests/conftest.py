"""Settings of every test."""

from hypothesis import settings

# Tables and tokenizers that a process builds once take longer than Hypothesis allows a single example.
settings.register_profile("gristmill", deadline=None)
settings.load_profile("gristmill")

pytest_plugins = ["object_store"]  # its fixtures start servers for the tests that ask for them

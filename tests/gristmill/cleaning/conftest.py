"""The first text of a process builds the character table, which takes longer than Hypothesis allows one example."""

from hypothesis import settings

settings.register_profile("gristmill", deadline=None)
settings.load_profile("gristmill")

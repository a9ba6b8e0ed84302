"""Placeholder until the real one lands."""
from gristmill.sources.base import Source
class StdlibDocs(Source):
    """Temporary."""

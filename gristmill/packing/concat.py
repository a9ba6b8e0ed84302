"""Documents back to back."""

from gristmill.packing.base import Packing


class Concat(Packing):
    """One stream a split: every document with its EOT, nothing between, nothing cut, nothing padded. Consumers take
    windows out of it with their own stride."""

"""Raw text corpora in, training-ready token shards out, with proof that nothing was lost."""

__version__ = "0.1.0"

"""Which documents are copies, and which of them stays."""

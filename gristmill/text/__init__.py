"""Facts about text, and about its ids, that several plugin groups need."""

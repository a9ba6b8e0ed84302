"""What is said of the whole: the manifest, the pages, and before a run its disk budget."""

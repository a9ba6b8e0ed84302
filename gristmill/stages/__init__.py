"""Functions from references to reports, in five folders in the order of the flow: each knows the earlier ones alone."""

"""What carries out the calls of the pipeline."""

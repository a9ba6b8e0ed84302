"""The parts of the pipeline: what is fanned out over what, what waits for what, what may begin early."""

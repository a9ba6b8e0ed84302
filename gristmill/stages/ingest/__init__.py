"""What is new in the input, read and cleaned."""

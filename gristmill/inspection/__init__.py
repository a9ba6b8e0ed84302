"""What looks at finished data."""

"""Child processes for CPU work, and what they report while they run."""

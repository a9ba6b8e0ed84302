"""Words and runs without an end, which a trainer would look at once for every merge."""

LONGEST = 4096
"""A word of base64 of 1 MB takes 8,000 merges over all of it, minutes in all, and teaches nothing."""


def without_endless_words(text: str) -> str:
    """``text``, or what is left of it when words of more than 4,096 characters and longer blank runs are taken out."""
    if len(text) <= LONGEST:
        return text
    words = text.split()
    if max(map(len, words), default=0) <= LONGEST and not any(blank * LONGEST in text for blank in " \t\n"):
        return text
    return " ".join(word for word in words if len(word) <= LONGEST)

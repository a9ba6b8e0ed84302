"""nanochat's rule for rows, written from its description alone and as slow as it reads: every buffer is scanned."""


def best_fit_rows(documents: list[list[int]], capacity: int, *, buffer: int, refill: int) -> list[list[int]]:
    """The complete rows of documents that start with their start-of-text id."""
    coming = list(documents)
    waiting: list[list[int]] = []
    rows: list[list[int]] = []
    row: list[int] = []
    while True:
        while len(waiting) < buffer and coming:
            waiting, coming = waiting + coming[:refill], coming[refill:]
        if not waiting:
            return rows
        room = capacity - len(row)
        best = -1
        for place, document in enumerate(waiting):
            if len(document) <= room and (best < 0 or len(document) > len(waiting[best])):
                best = place
        if best < 0:
            for place, document in enumerate(waiting):
                if best < 0 or len(document) < len(waiting[best]):
                    best = place
        row += waiting.pop(best)[:room]
        if len(row) == capacity:
            rows.append(row)
            row = []

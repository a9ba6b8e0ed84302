"""Faults on purpose, and what must hold all the same: ``make soak`` tries all of it, ``tests/soak`` a little of each.

``job`` is the work that is disturbed, ``places`` where it is done, ``child`` the process that does it, ``bench`` all of
it together. Every other module holds one kind of fault: a function of a ``Bench`` and a count that returns a ``Row``.
"""

"""The fixtures that several rooms test against: a folder beside the project, absent in a plain checkout."""

from pathlib import Path

SHARED = Path(__file__).resolve().parents[2].parent / "shared"

"""Through a proxy that fails: the right bytes, or an error with a name; never other bytes, never "already exists" for
what we wrote ourselves."""

import random
import time
from pathlib import Path
from typing import Any

import pytest
from fault_proxy import Fault, FaultProxy
from object_store import Bucket, reached
from test_s3 import put, sha256

from gristmill import s3
from gristmill.errors import StorageError

MIXED: dict[Fault, float] = {"slow_down": 0.05, "error": 0.05, "reset": 0.05, "lost": 0.1, "cut": 0.1, "slow": 0.05}

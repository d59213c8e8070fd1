"""The benchmarks' own side; what they share with the tests is in tests/lib."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2]))

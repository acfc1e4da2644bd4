"""Where things are in the checkout."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "docs" / "examples"
DEMO = ROOT / "core" / "recording" / "demo.jsonl.gz"

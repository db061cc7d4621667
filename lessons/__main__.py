"""python -m lessons: list the lessons, run them, step through them."""

import sys
from pathlib import Path

from scratch_embed.lesson.cli import main

sys.exit(main(Path(__file__).parent))

"""Files: everything this package writes to disk or reads from it goes through here."""

from scratch_embed.files.cache import cache_dir
from scratch_embed.files.writing import replacing

__all__ = ["cache_dir", "replacing"]

"""How Hudi says that the cleaner took what a snapshot needs, and what to do about it. Pure.

A frame lists its files when it is loaded: one that is loaded after the cleaner fails with Hudi's own words, one that is read
after it fails on the missing file, or lacks its rows without an error, which `Lake.still` tells.
"""

from __future__ import annotations

import re

from hudi_reconcile.core.errors import LakeError

# "Please ensure sufficient commits are retained ..." is of Hudi's time travel, the other one of its storage.
_PASSED, _GONE = "sufficient commits are retained", re.compile(r"FileNotFoundException: [^\n]*\.(parquet|log)\b")
FIX = (
    "raise hoodie.clean.commits.retained of whoever cleans the table (Hudi's default: 10; of this tool: lake.options) "
    "above the commits that are made during a run; then run the same command again"
)


def cleaner_passed(text: str) -> LakeError | None:
    """The named error where a Java exception's text says so; None for any other. Never shows that text.

    >>> cleaner_passed("Please ensure sufficient commits are retained with cleaner").message
    'the cleaner passed the lake snapshot that was being read: its files are gone'
    >>> cleaner_passed("NullPointerException") is None
    True
    """
    if _PASSED in text:
        return LakeError("the cleaner passed the lake snapshot that was being read: its files are gone", fix=FIX)
    if _GONE.search(text):
        return LakeError(
            "a file that was being read is gone: the cleaner passed the lake snapshot, or somebody removed it", fix=FIX
        )
    return None

"""What each kind of finding means, and what corrects it, in the words of the report. Pure."""

from __future__ import annotations

KIND_MEANING = {
    "late_arriving": "The source has the row, or a newer version of it, and the next pull will not read it: it is from before "
    "the checkpoint, without a watermark, or ahead of the clock.",
    "updated_without_watermark": "Both have the row under the same watermark, yet other columns differ.",
    "deleted": "The lake still has a row that the source no longer has.",
    "regressed": "The source's row is older than the lake's: the source went back.",
    "duplicate_key": "The lake holds the key more than once.",
    "pending": "In the window of the next pull, which will bring it.",
    "settled": "Differed at first and was equal when read again.",
    "moving": "Changed again between the two looks; not judged this time.",
}
KIND_CORRECTION = {
    "late_arriving": "upsert",
    "updated_without_watermark": "upsert",
    "deleted": "delete",
    "regressed": "upsert",
    "duplicate_key": "upsert, extra copies removed",
}

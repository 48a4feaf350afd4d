"""The databases that digest their own rows, as SQL text: siblings, one file each, beside their dialects."""

"""Bars of what `make bench` measured, as SVG: `python bench/plot.py BEFORE.json AFTER.json > docs/pictures/speed.svg`.

Each file is what `bench/run.py --json FILE` wrote: seconds by way of doing it, by title. Within a title all bars share a scale.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path

Figures = Mapping[str, Mapping[str, float]]
WIDTH, LABEL, BAR, GAP = 760, 260, 18, 6
COLORS = ("#9aa5b1", "#2f6f9f", "#3f8f5f")


def draw(files: Sequence[tuple[str, Figures]]) -> str:
    """The picture; a title that only some files have shows their bars."""
    lines, at = list[str](), 24
    for title in dict.fromkeys(title for _, found in files for title in found):
        lines.append(f'<text x="8" y="{at}" class="title">{escape(title)}</text>')
        rows = list(_rows(title, files))
        longest = max(seconds for _, _, seconds in rows)
        at += 12
        for label, color, seconds in rows:
            length = (WIDTH - LABEL - 80) * seconds / longest
            lines.append(f'<text x="{LABEL - 8}" y="{at + 13}" text-anchor="end">{escape(label)}</text>')
            lines.append(f'<rect x="{LABEL}" y="{at}" width="{length:.1f}" height="{BAR}" fill="{color}"/>')
            lines.append(f'<text x="{LABEL + length + 6:.1f}" y="{at + 13}">{seconds:.2f} s</text>')
            at += BAR + GAP
        at += 24
    style = "text{font:13px sans-serif;fill:#20303f}.title{font-weight:bold}"
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {at}" width="{WIDTH}" height="{at}">'
    return "\n".join(
        (head, f"<style>{style}</style>", '<rect width="100%" height="100%" fill="#fff"/>', *lines, "</svg>")
    )


def _rows(title: str, files: Sequence[tuple[str, Figures]]) -> Iterator[tuple[str, str, float]]:
    for way in dict.fromkeys(way for _, found in files for way in found.get(title, {})):
        for place, (name, found) in enumerate(files):
            if way in found.get(title, {}):
                yield f"{way}, {name}", COLORS[place % len(COLORS)], found[title][way]


def main() -> int:
    """Print the picture of the files that are named."""
    paths = [Path(name) for name in sys.argv[1:]]
    if not paths:
        print(__doc__, file=sys.stderr)
        return 2
    print(draw([(path.stem, json.loads(path.read_text(encoding="utf-8"))) for path in paths]))
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Pictures of every page at 1280 and 390 px, light and dark, and as printed: `python -m tests.support.screenshots FOLDER`."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.support.browser import Browser, View, browser
from tests.support.pages import pages

WIDTHS = (1280, 390)
_TALLEST = 16_000
_PROBE = "<script>document.documentElement.dataset.tall = document.documentElement.scrollHeight</script></body>"


def main(folder: Path) -> int:
    """Write them all; exit 2 where there is no Chromium."""
    chromium = browser()
    if chromium is None:
        print("no Chromium here: apt-get install chromium", file=sys.stderr)  # noqa: T201
        return 2
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        page = folder / f"{name}.html"
        page.write_text(text, "utf-8")
        for width in WIDTHS:
            tall = height_of(chromium, text, width, folder)
            for dark in (False,) if name == "mail" else (False, True):
                to = folder / f"{name}-{width}-{'dark' if dark else 'light'}.png"
                chromium.picture(page, to, View(width, tall, dark=dark))
        chromium.pdf(page, folder / f"{name}-print.pdf")
    print(f"{len(list(folder.glob('*.png')))} pictures and {len(list(folder.glob('*.pdf')))} PDFs in {folder}")  # noqa: T201
    return 0


def height_of(chromium: Browser, text: str, width: int, folder: Path) -> int:
    """How tall the page is at this width."""
    probe = folder / ".probe.html"
    probe.write_text(without_policy(text).replace("</body>", _PROBE), "utf-8")
    told = chromium.document(probe, View(width))
    probe.unlink()
    return min(_TALLEST, int(told.split('data-tall="')[1].split('"')[0]) + 8)


def without_policy(text: str) -> str:
    """The page without the policy that keeps scripts of others out, for ours to look at it."""
    return "\n".join(line for line in text.splitlines() if "Content-Security-Policy" not in line)


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1])))

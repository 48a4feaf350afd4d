"""A headless Chromium, called once for each thing: a picture, a PDF, or the page after its scripts ran."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
_SECONDS = 120


@dataclass(frozen=True, slots=True)
class View:
    """How a page is looked at. `preferredColorScheme` of Blink: 0 is dark, 1 is light."""

    width: int = 1280
    height: int = 900
    dark: bool = False

    @property
    def options(self) -> list[str]:
        """Chromium's words for it."""
        scheme = 0 if self.dark else 1
        return [f"--window-size={self.width},{self.height}", f"--blink-settings=preferredColorScheme={scheme}"]


@dataclass(frozen=True, slots=True)
class Browser:
    """One installed Chromium."""

    path: str

    def picture(self, page: Path, to: Path, view: View) -> None:
        """The window as PNG."""
        self._run(page, view, f"--screenshot={to}")

    def pdf(self, page: Path, to: Path) -> None:
        """The page as it is printed."""
        self._run(page, View(), "--no-pdf-header-footer", f"--print-to-pdf={to}")

    def document(self, page: Path, view: View) -> str:
        """The page's markup after its scripts came to rest."""
        return self._run(page, view, "--virtual-time-budget=30000", "--dump-dom")

    def _run(self, page: Path, view: View, *what: str) -> str:
        calm = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-dev-shm-usage"]
        call = [self.path, *calm, *view.options, *what, page.resolve().as_uri()]
        return subprocess.run(call, capture_output=True, check=True, text=True, timeout=_SECONDS).stdout


def browser() -> Browser | None:
    """The Chromium of this machine, if it has one."""
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    return None if found is None else Browser(found)


def required_browser() -> Browser:
    """It, or the test is skipped; with REQUIRE_CHROMIUM set, as in CI, it fails."""
    found = browser()
    if found is None and os.environ.get("REQUIRE_CHROMIUM"):
        pytest.fail(f"none of {', '.join(NAMES)} is installed")
    if found is None:
        pytest.skip(f"none of {', '.join(NAMES)} is installed")
    return found

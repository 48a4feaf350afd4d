"""A page as PDF, printed by a Chromium of this machine: the layout engine that the pages are looked at in.

It needs no package of Python's and is asked for by nobody else, so it is no dependency: where there is none, the error says
what to install. (WeasyPrint, which pip could bring, leaves out the heat map's shades.)
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from hudi_reconcile.core.errors import UsageError

VARIABLE = "HUDI_RECONCILE_CHROMIUM"
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_SECONDS = 120
_INSTALL = f"install one: apt-get install chromium; or set {VARIABLE} to the path of a Chromium or Chrome"
# The page needs nothing from elsewhere, and its policy forbids it; nor shall the browser itself call home.
_CALM = (
    "--headless",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--disable-background-networking",
    "--no-first-run",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--no-pdf-header-footer",
)


def chromium(environ: Mapping[str, str]) -> str:
    """The browser's path. Raises UsageError where there is none."""
    named = environ.get(VARIABLE)
    found = [path for name in ((named,) if named else NAMES) if (path := shutil.which(name, path=environ.get("PATH")))]
    if found:
        return found[0]
    what = f"{VARIABLE}={named} is no program" if named else f"none of {', '.join(NAMES)} is installed"
    raise UsageError(f"a PDF is printed by a browser, and {what}", fix=_INSTALL)


def printed(page: str, environ: Mapping[str, str] = os.environ) -> bytes:
    """The page as it is printed.

    Raises:
        UsageError: there is no browser, or it printed nothing; its own words are not repeated.
    """
    browser = chromium(environ)
    with TemporaryDirectory(prefix="hudi-reconcile-pdf-") as name:
        folder = Path(name)
        source, target = folder / "report.html", folder / "report.pdf"
        source.write_text(page, "utf-8")
        # Chromium refuses root its sandbox.
        root = ("--no-sandbox",) if os.geteuid() == 0 else ()
        call = [browser, *_CALM, *root, f"--user-data-dir={folder / 'profile'}", f"--print-to-pdf={target}"]
        try:
            subprocess.run([*call, source.as_uri()], capture_output=True, check=True, timeout=_SECONDS)
            found = target.read_bytes()
        except (OSError, subprocess.SubprocessError) as error:
            raise _not_printed(browser, type(error).__name__) from None
        if not found.startswith(b"%PDF-"):
            raise _not_printed(browser, "it wrote no PDF")
        return found


def _not_printed(browser: str, why: str) -> UsageError:
    fix = "print the page in a browser instead: hudi-reconcile report RUN -o report.html"
    return UsageError(f"{browser} did not print the report ({why}); nothing was written", fix=fix)

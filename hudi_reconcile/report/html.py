"""The HTML pages: each one file that needs no network, and no script to be read. Pure: documents in, text out.

Everything from documents passes through `visible` and is escaped by the template engine; the content security policy
allows our own style sheet and script by their hashes and nothing else, so that a value that did slip through could do
nothing. The script only filters, sorts and copies.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup, escape

from hudi_reconcile import __version__
from hudi_reconcile.report.advice import command_prefix
from hudi_reconcile.report.control import signed
from hudi_reconcile.report.index import Index
from hudi_reconcile.report.mail import Mail
from hudi_reconcile.report.view import Kept, page_of
from hudi_reconcile.report.visible import visible
from hudi_reconcile.report.wording import counted, figure

Document = Mapping[str, Any]


def render_report(run: Document, kept: Kept) -> str:
    """The report's page. A table without plan, findings, coverage or past shows none.

    The same documents give the same text. Nothing in it comes from elsewhere, but for this tool's version.
    """
    return _template("report.html").render(page=page_of(run, kept), tool=command_prefix(run), **_inlined())


def render_index(index: Index, base: str) -> str:
    """The page over all tables. `base` leads from the page to the reports folder, ending in a slash."""
    return _template("index.html").render(index=index, base=quote(base), **_inlined())


def render_mail(mail: Mail) -> str:
    """A run as the body of a mail: no style sheet, no script, no drawing."""
    return _template("mail.html").render(mail=mail)


def _inlined() -> dict[str, Any]:
    style, script = (Markup(_source(name)) for name in ("report.css", "page.js"))  # noqa: S704 - our own files
    return {"style": style, "style_hash": _csp_hash(style), "script": script, "script_hash": _csp_hash(script)}


def _csp_hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


@lru_cache(maxsize=1)
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("hudi_reconcile.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_shown,
    )
    environment.filters |= {
        "figure": figure,
        "signed": signed,
        "counted": counted,
        "lines": _lines,
        "breakable": _breakable,
    }
    environment.globals["version"] = __version__
    return environment


def _template(name: str) -> Template:
    return _environment().get_template(name)


def _source(name: str) -> str:
    loader = _environment().loader
    assert loader is not None
    return loader.get_source(_environment(), name)[0]


def _shown(value: Any) -> Any:
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _breakable(word: str) -> Markup:
    """One of our own words, with places where a narrow screen may break it."""
    return Markup("_<wbr>").join(escape(part) for part in word.split("_"))


def _lines(text: str) -> Markup:
    """Text whose line ends stay, all else visible and escaped."""
    return Markup("\n").join(escape(visible(line)) for line in text.split("\n"))

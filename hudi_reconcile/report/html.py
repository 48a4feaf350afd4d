"""The HTML report of a run: one file that needs no network and no script. Pure: documents in, text out.

Everything from documents passes through `visible` and is escaped by the template engine; the content security policy
allows our own style sheet by its hash and nothing else, so that a value that did slip through could do nothing.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup, escape

from hudi_reconcile import __version__
from hudi_reconcile.report.control import signed
from hudi_reconcile.report.view import Kept, page_of
from hudi_reconcile.report.visible import visible
from hudi_reconcile.report.wording import command_prefix, counted, figure

Document = Mapping[str, Any]


def render_report(run: Document, kept: Kept) -> str:
    """The report's page. A table without plan, findings, coverage or past shows none.

    The same documents give the same text. Nothing in it comes from elsewhere, but for this tool's version.
    """
    style = Markup(_style())  # noqa: S704 - our own file, shipped with this module
    return _template().render(
        page=page_of(run, kept), style=style, style_hash=_csp_hash(style), tool=command_prefix(run)
    )


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


def _template() -> Template:
    return _environment().get_template("report.html")


def _style() -> str:
    loader = _environment().loader
    assert loader is not None
    return loader.get_source(_environment(), "report.css")[0]


def _shown(value: Any) -> Any:
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _breakable(word: str) -> Markup:
    """One of our own words, with places where a narrow screen may break it."""
    return Markup("_<wbr>").join(escape(part) for part in word.split("_"))


def _lines(text: str) -> Markup:
    """Text whose line ends stay, all else visible and escaped."""
    return Markup("\n").join(escape(visible(line)) for line in text.split("\n"))

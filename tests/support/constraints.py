"""The versions of requirements.lock as constraints, which the wheel carries: `make lock` writes them."""

from __future__ import annotations

import re

from tests.support.docs import ROOT

PLACE = ROOT / "hudi_reconcile" / "constraints.txt"
_HEAD = "# The versions that the tests ran with, made of requirements.lock by make lock: pip install -c constraints.txt WHEEL\n"
_PIN = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[^\]]*\])?(==[^\s;\\]+)((?: ;[^\\\n]+)?)", re.MULTILINE)


def constraints(lock: str) -> str:
    """The pins of a lock without hashes and extras, each with its marker."""
    pins = (f"{name}{version}{marker.rstrip()}" for name, version, marker in _PIN.findall(lock))
    return _HEAD + "".join(f"{pin}\n" for pin in pins)


if __name__ == "__main__":
    PLACE.write_text(constraints((ROOT / "requirements.lock").read_text("utf-8")), "utf-8")

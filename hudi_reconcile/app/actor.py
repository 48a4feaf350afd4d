"""Who runs this process, as far as the machine knows."""

from __future__ import annotations

import getpass
import os
import socket
from collections.abc import Mapping

from hudi_reconcile.core.approval import Actor, name_of

NAME = "HUDI_RECONCILE_AS"


def actor(environ: Mapping[str, str], name: str | None = None) -> Actor:
    """The name given, else `HUDI_RECONCILE_AS`, else the login. Raises UsageError for a name that is none."""
    login = f"{_user()}@{socket.gethostname()}"
    said = name if name is not None else environ.get(NAME)
    return Actor(login if said is None else name_of(said), login)


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user without an entry in its passwd
        return f"uid{os.getuid()}"

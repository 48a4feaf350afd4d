"""Text that nobody obeys. Pure.

No terminal: control characters, and those that reorder or hide what stands beside them, are escapes. No CI server: GitHub
takes lines that begin with `::` for commands, GitHub `##[` and Azure `##vso[` wherever they stand in a line.
"""

from __future__ import annotations

import json
import re

# C0 but for tab and line end, DEL, C1; what reorders, joins or has no width; line separators; tags.
_OBEYED = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
_LOGGED_COMMAND = re.compile(r"##(?=\[|vso\[)", re.IGNORECASE)
_COMMAND = re.compile(r"^([^\S\n]*)(?=::)", re.MULTILINE)


def without_commands(text: str) -> str:
    r"""The text without a line that a CI server takes for a command of ours: GitHub obeys lines that begin with `::`.

    >>> without_commands("why: x\n  ::stop-commands::y")
    'why: x\n  | ::stop-commands::y'
    """
    return _COMMAND.sub(r"\1| ", text)


def printable(text: str) -> str:
    r"""The text with such characters as escapes, and no command of a log within a line; line ends and tabs stay.

    >>> printable("a\x1b[31mb ##[add-mask]c")
    'a\\x1b[31mb # #[add-mask]c'
    """
    text = _LOGGED_COMMAND.sub("# #", text)
    return _OBEYED.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


def json_safe(text: str) -> str:
    r"""JSON, or a part of it, with those characters escaped that JSON lets pass: it says the same.

    >>> json_safe('"a\u202eb ##vso[c"')
    '"a\\u202eb \\u0023#vso[c"'
    """
    text = _LOGGED_COMMAND.sub(r"\\u0023#", text)
    return _OBEYED.sub(lambda found: json.dumps(found[0])[1:-1], text)

"""What Java makes of a regular expression, as far as its text alone tells: Spark's `rlike` is Java's. Pure.

Source: java.util.regex.Pattern of Java 17. What is faulty here, Java rejects, or takes for something else than its author can
mean; a text that is not faulty here Java may still reject, when the rule runs.
"""

from __future__ import annotations

import re
from typing import Final

# Where these stand, brackets are counted otherwise, or not at all: only Java can tell.
_ONLY_JAVA_TELLS = re.compile(r"\\[Qc]|\(\?[a-zA-Z]*x|\[\^?\]")
_ESCAPED = re.compile(r"\\.", re.DOTALL)
# The letters that mean something behind a backslash; of all others Java makes an error.
_ESCAPES: Final = frozenset("0abdefhknprstuvwxzABDEGHNPRSVWXZ")
_NUMERIC = {
    "0": re.compile(r"[0-7]"),
    "u": re.compile(r"[0-9A-Fa-f]{4}"),
    "x": re.compile(r"[0-9A-Fa-f]{2}|\{[0-9A-Fa-f]+\}"),
}
_NAMED = {letter: re.compile(r"\{[^}]+\}|[A-Za-z]") for letter in "pP"} | {"N": re.compile(r"\{[^}]+\}")}
_REFERENCE = re.compile(r"<([^>]*)>")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*")
_COUNT = re.compile(r"\{([0-9]+)(?:(,)([0-9]*))?\}")
_MOST_REPEATED = 2**31 - 1
# A range of a class, both ends written as themselves.
_RANGE = re.compile(r"(\\[^A-Za-z0-9]|[^\\\[\]])-(\\[^A-Za-z0-9]|[^\\\[\]])", re.DOTALL)
# Of \p{…}: names with a prefix or a key (IsLatin, InGreek, script=…) only Java tells.
_CATEGORIES = (
    "Cn Lu Ll Lt Lm Lo Mn Me Mc Nd Nl No Zs Zl Zp Cc Cf Co Cs Pd Ps Pe Pc Po Sm Sc Sk So Pi Pf L M N Z C P S LC LD L1"
)
_POSIX_NAMES = "all ASCII Alnum Alpha Blank Cntrl Digit Graph Lower Print Punct Space Upper XDigit"
_PROPERTIES: Final = frozenset(f"{_CATEGORIES} {_POSIX_NAMES}".split())
_PREFIXED = re.compile(r"I[sn].|java[A-Z].|.*=")
_POSIX = re.compile(r"\[:\^?([a-z]+):\]")
_GROUP = re.compile(r"\?(?:[:=!>]|<[=!]|<([^=!>]*)>|[idmsuxU]*(?:-[idmsuxU]*)?[):])")
# What other dialects write, and what Java has for it.
_OTHERS = {
    "?P<": "(?P<name>…) is Python's: (?<name>…) in Java",
    "?P=": r"(?P=name) is Python's: \k<name> in Java",
    "?P>": "(?P>name) is not in Java",
    "?#": "(?#…) is no comment in Java",
    "?(": "(?(…)…|…) is not in Java",
    "?|": "(?|…) is not in Java",
    "?R": "(?R) is not in Java",
    "?'": "(?'name'…) is not in Java: (?<name>…)",
}


def regex_fault(regex: str) -> str:
    r"""Why no run of this expression can be what its author means; empty where nothing is certainly wrong.

    >>> regex_fault("^[^@]+@[^@]+$"), regex_fault("(?P<y>[0-9]{4})")
    ('', "(?P<name>…) is Python's: (?<name>…) in Java")
    """
    if posix := _POSIX.search(regex):
        return f"[:{posix[1]}:] stands for its letters in Java: write \\p{{{posix[1].capitalize()}}}"
    if _ONLY_JAVA_TELLS.search(regex):
        return ""
    return _unbalanced(regex) or _Reading(regex).fault()


# --- helpers ---


def _unbalanced(regex: str) -> str:
    r"""What Java's syntax cannot make anything of; empty where brackets are even.

    >>> _unbalanced("(["), _unbalanced("a)"), _unbalanced(r"[\[(](a|\))"), _unbalanced("[a-z[0-9]]")
    ("'[' is not closed", "')' closes nothing", '', '')
    """
    plain = _ESCAPED.sub("", regex)
    if "\\" in plain:
        return "ends in a backslash that escapes nothing"
    groups = classes = 0
    for char in plain:
        if char == "[":
            classes += 1
        elif classes:
            classes -= char == "]"
        elif char in "()":
            groups += 1 if char == "(" else -1
            if groups < 0:
                return "')' closes nothing"
    return "'[' is not closed" if classes else "'(' is not closed" if groups else ""


class _Reading:
    """One way through an expression whose brackets are even. `repeatable`: what was read last may be repeated."""

    def __init__(self, regex: str) -> None:
        self._regex = regex
        self._at = 0
        self._classes = 0
        self._repeatable = False
        self._names: set[str] = set()

    def fault(self) -> str:
        while self._at < len(self._regex):
            char = self._regex[self._at]
            self._at += 1
            if why := self._read(char):
                return why
        return ""

    def _read(self, char: str) -> str:
        if char == "\\":
            return self._escape()
        if char == "[":
            self._classes += 1
            self._at += self._regex[self._at : self._at + 1] == "^"
        elif self._classes:
            return self._in_class(char)
        elif char == "(":
            return self._group()
        elif char in "*+?{":
            return self._repetition(char)
        else:
            self._repeatable = char != "|"
        return ""

    def _in_class(self, char: str) -> str:
        self._classes -= char == "]"
        self._repeatable = True
        found = _RANGE.match(self._regex, self._at - 1)
        if found is None:
            return ""
        low, high = (end[-1] for end in found.groups())
        self._at = found.end()
        return f"{found[0]} counts down" if high < low else ""

    def _escape(self) -> str:
        letter = self._regex[self._at]
        self._at += 1
        self._repeatable = True
        if letter.isascii() and letter.isalpha() and letter not in _ESCAPES:
            return f"\\{letter} means nothing in Java"
        if letter == "b" and self._regex.startswith("{g}", self._at):  # the edge of a grapheme
            self._at += 3
        if letter == "k":
            found = _REFERENCE.match(self._regex, self._at)
            if found is None or found[1] not in self._names:
                return r"\k<name> names no group before it"
            self._at = found.end()
        wanted = _NUMERIC.get(letter) or _NAMED.get(letter)
        if wanted is not None:
            argument = wanted.match(self._regex, self._at)
            if argument is None:
                return f"\\{letter} lacks what belongs behind it"
            self._at = argument.end()
            name = argument[0].strip("{}")
            if letter in "pP" and name not in _PROPERTIES and not _PREFIXED.match(name):
                return f"\\{letter}{argument[0]} names no kind of letters that Java knows"
        return ""

    def _group(self) -> str:
        rest = self._regex[self._at : self._at + 3]
        self._repeatable = False
        if not rest.startswith("?"):
            return ""
        other = next((why for start, why in _OTHERS.items() if rest.startswith(start)), "")
        found = _GROUP.match(self._regex, self._at)
        if other or found is None:
            return other or f"({rest[:2]}… begins no group of Java's"
        if (name := found[1]) is not None:
            if _NAME.fullmatch(name) is None:
                return f"the group's name {name!r} is none in Java: letters and digits, a letter first"
            if name in self._names:
                return f"the group {name!r} is there twice"
            self._names.add(name)
        self._at = found.end() - (found[0][-1] == ")")
        return ""

    def _repetition(self, char: str) -> str:
        if not self._repeatable and char != "{":  # a count of nothing is taken
            return f"{char!r} repeats nothing"
        if char == "{":
            count = _COUNT.match(self._regex, self._at - 1)
            if count is None:
                return r"'{' begins no count such as {2,4}; a brace itself is \{"
            if max(int(count[1]), int(count[3] or 0)) > _MOST_REPEATED:
                return f"{count[0]} is more often than Java counts"
            if count[3] and int(count[3]) < int(count[1]):
                return f"{count[0]} counts down"
            self._at = count.end()
        self._at += self._regex[self._at : self._at + 1] in ("?", "+")  # reluctant, possessive
        self._repeatable = False
        return ""

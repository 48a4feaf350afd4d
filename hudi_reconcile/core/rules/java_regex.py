"""What Java makes of a regular expression, as far as its text alone tells: Spark's `rlike` is Java's. Pure.

Source: java.util.regex.Pattern of Java 17. What is faulty here, Java rejects, or takes for something else than its author can
mean; a text that is not faulty here Java may still reject, when the rule runs.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

# Where these stand, brackets are counted otherwise, or not at all: only Java can tell.
_ONLY_JAVA_TELLS = re.compile(r"\\[Qc]|\(\?[a-zA-Z]*x|\[\^?\]")
_ESCAPED = re.compile(r"\\.", re.DOTALL)
# "]" is a letter where a class begins with it; then nothing closes the class.
_CLOSED_BY_NOTHING = re.compile(r"(?<!\\)\[\^?\][^\]]*\Z")
# The letters that mean something behind a backslash; of all others Java makes an error.
# In a class it makes one of these as well.
_ESCAPES: Final = frozenset("0abdefhknprstuvwxzABDGHNPRSVWXZ")
_OUTSIDE_CLASSES: Final = frozenset("bkzABGRXZ123456789")
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
# A range of a class: each end one character. Half a surrogate pair and a character's name only Java tells.
_END = (
    r"\\(?:0[0-3]?[0-7]{1,2}|x[0-9A-Fa-f]{2}|x\{[0-9A-Fa-f]{1,6}\}|u(?![dD][89a-fA-F])[0-9A-Fa-f]{4}|[tnrfae]|[^A-Za-z0-9])|"
    r"[^\\\[\]]"
)
_RANGE = re.compile(f"({_END})-({_END}|\\\\[dDhHpPsSvVwW])", re.DOTALL)
_CONTROLS = {"t": 9, "n": 10, "r": 13, "f": 12, "a": 7, "e": 27}
_LAST_CHARACTER = 0x10FFFF
# Of \p{…}: scripts, blocks and what Unicode says of a letter (IsLatin, InGreek, script=…) only Java tells.
_CATEGORIES = (
    "Cn Lu Ll Lt Lm Lo Mn Me Mc Nd Nl No Zs Zl Zp Cc Cf Co Cs Pd Ps Pe Pc Po Sm Sc Sk So Pi Pf L M N Z C P S LC LD L1"
)
_POSIX_NAMES = "all ASCII Alnum Alpha Blank Cntrl Digit Graph Lower Print Punct Space Upper XDigit"
_PROPERTIES: Final = frozenset(f"{_CATEGORIES} {_POSIX_NAMES}".split())
_METHODS = (
    "LowerCase UpperCase Alphabetic Ideographic TitleCase Digit Defined Letter LetterOrDigit JavaIdentifierStart "
    "JavaIdentifierPart UnicodeIdentifierStart UnicodeIdentifierPart IdentifierIgnorable SpaceChar Whitespace ISOControl Mirrored"
)
_JAVA_METHODS: Final = frozenset(_METHODS.split())
_ONLY_JAVA_KNOWS = re.compile(r"I[sn].|(?i:sc|script|blk|block)=.")
_CATEGORY = re.compile(r"(?:gc|general_category)=", re.IGNORECASE)
_POSIX = re.compile(r"\[:\^?([a-z]+):\]")
_GROUP = re.compile(r"\?(?:[:=!>]|<[=!]|<([^=!>]*)>|[idmsuxU]*(?:-[idmsuxU]*)?[):])")
_OPEN_CLASS = "'[' is not closed"
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


def find_regex_fault(regex: str) -> str:
    r"""Why no run of this expression can be what its author means; empty where nothing is certainly wrong.

    >>> find_regex_fault("^[^@]+@[^@]+$"), find_regex_fault("(?P<y>[0-9]{4})")
    ('', "(?P<name>…) is Python's: (?<name>…) in Java")
    """
    if posix := _POSIX.search(regex):
        return f"[:{posix[1]}:] stands for its letters in Java: write \\p{{{posix[1].capitalize()}}}"
    if only_java := _ONLY_JAVA_TELLS.search(regex):
        is_open = only_java[0][0] == "[" and _CLOSED_BY_NOTHING.search(regex) and not re.search(r"\\[Qc]|\(\?", regex)
        return _OPEN_CLASS if is_open else ""
    return _find_imbalance(regex) or _Reading(regex).fault()


# --- helpers ---


def _find_imbalance(regex: str) -> str:
    r"""What Java's syntax cannot make anything of; empty where brackets are even.

    >>> _find_imbalance("(["), _find_imbalance("a)"), _find_imbalance(r"[\[(](a|\))"), _find_imbalance("[a-z[0-9]]")
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
    return _OPEN_CLASS if classes else "'(' is not closed" if groups else ""


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
        if self._classes and char not in "[]":
            return self._read_class_member(char)
        if char == "\\":
            return self._escape()
        if char == "[":
            self._classes += 1
            self._at += self._regex[self._at : self._at + 1] == "^"
        elif char == "]":
            self._classes -= self._classes > 0
            self._repeatable = True
        elif char == "(":
            return self._group()
        elif char in "*+?{":
            return self._repetition(char)
        else:
            self._repeatable = char != "|"
        return ""

    def _read_class_member(self, char: str) -> str:
        if match := _RANGE.match(self._regex, self._at - 1):
            self._at = match.end()
            low, high = (_code(end) for end in match.groups())
            if high is None:
                return f"{match[0]} ends in many letters"
            return f"{match[0]} counts down" if low is not None and high < low else ""
        return self._escape() if char == "\\" else ""

    def _escape(self) -> str:
        letter = self._regex[self._at]
        self._at += 1
        self._repeatable = True
        if letter.isascii() and letter.isalpha() and letter not in _ESCAPES:
            return f"\\{letter} means nothing in Java"
        if self._classes and letter in _OUTSIDE_CLASSES:
            return f"\\{letter} means nothing within [ ]"
        if letter == "b" and self._regex.startswith("{g}", self._at):  # the edge of a grapheme
            self._at += 3
        if letter == "k":
            match = _REFERENCE.match(self._regex, self._at)
            if match is None or match[1] not in self._names:
                return r"\k<name> names no group before it"
            self._at = match.end()
        wanted = _NUMERIC.get(letter) or _NAMED.get(letter)
        if wanted is None:
            return ""
        argument = wanted.match(self._regex, self._at)
        if argument is None:
            return f"\\{letter} lacks what belongs behind it"
        self._at = argument.end()
        return _argument_fault(letter, argument[0])

    def _group(self) -> str:
        rest = self._regex[self._at : self._at + 3]
        self._repeatable = False
        if not rest.startswith("?"):
            return ""
        other = next((why for start, why in _OTHERS.items() if rest.startswith(start)), "")
        match = _GROUP.match(self._regex, self._at)
        if other or match is None:
            return other or f"({rest[:2]}… begins no group of Java's"
        if (name := match[1]) is not None:
            if _NAME.fullmatch(name) is None:
                return f"the group's name {name!r} is none in Java: letters and digits, a letter first"
            if name in self._names:
                return f"the group {name!r} is there twice"
            self._names.add(name)
        self._at = match.end() - (match[0][-1] == ")")
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


def _argument_fault(letter: str, text: str) -> str:
    name = text.strip("{}")
    if letter in "pP" and not _is_property(name):
        return f"\\{letter}{text} names no kind of letters that Java knows"
    if letter == "N" and not _is_character(name):
        return f"\\N{text} names no character"
    return f"\\x{text} is beyond Unicode" if letter == "x" and int(name, 16) > _LAST_CHARACTER else ""


def _is_property(name: str) -> bool:
    r"""Whether Java may know it as \p{…}.

    >>> _is_property("gc=Lu"), _is_property("gc=Xx"), _is_property("javaMirrored"), _is_property("x=y")
    (True, False, True, False)
    """
    name = _CATEGORY.sub("", name, count=1)
    return name in _PROPERTIES or name.removeprefix("java") in _JAVA_METHODS or _ONLY_JAVA_KNOWS.match(name) is not None


def _is_character(name: str) -> bool:
    """By its name, or, as Java takes it too, by its block and number."""
    try:
        unicodedata.lookup(name.strip())
    except KeyError:
        return re.search(r" [0-9A-Fa-f]+\s*\Z", name) is not None
    return True


def _code(end: str) -> int | None:
    r"""The character at an end of a range; None of an escape that stands for many.

    >>> [_code(end) for end in ("a", r"\x61", r"\x{61}", r"\u0061", r"\0141", r"\n", r"\-", r"\d")]
    [97, 97, 97, 97, 97, 10, 45, None]
    """
    if end[0] != "\\" or not end[1].isalnum():
        return ord(end[-1])
    letter, digits = end[1], end[2:].strip("{}")
    if digits:
        return int(digits, 8 if letter == "0" else 16)
    return _CONTROLS.get(letter)

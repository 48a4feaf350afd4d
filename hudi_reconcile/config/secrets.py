"""`${env:NAME}`, `${env:NAME:-default}`, `${file:PATH}` in config text, and the secret that is filled in when needed.

What a reference stands for is in no message, repr or dump. Only regular files are read, and pipes within a deadline (`-c
<(generate)`): a pipe without a writer, or a device, would hold a command for ever or fill its memory.
"""

from __future__ import annotations

import errno
import os
import re
import select
import stat
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from hudi_reconcile.core.errors import ConfigError
from hudi_reconcile.core.safe_text import HIDDEN_SETTINGS

HIDDEN = "***"
# Sections of free keys.
OPTION_SECTIONS = ("jdbc", "conf", "options")
_SECRET_NAME = re.compile(HIDDEN_SETTINGS, re.IGNORECASE)
_SECRET_PROPERTY = re.compile(rf"(?:{HIDDEN_SETTINGS})[\w.-]*=", re.IGNORECASE)

Environment = Mapping[str, str]
ReadFile = Callable[[Path | str], str]  # a text is the address of a file on a Hadoop file system

_LEGAL = "${env:NAME}, ${env:NAME:-default}, ${file:PATH}; $${ is a plain ${"
_TOKEN = re.compile(r"\$\$\{|\$\{([^}]*)\}|\$\{")
_ENV = re.compile(r"env:([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?", re.DOTALL)
_FILE = re.compile(r"file:(.+)", re.DOTALL)
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
LARGEST_SECRET_BYTES = 65_536


class MissingReferenceError(Exception):
    """A reference has nothing to stand for. The message names the variable or file, never a value."""


@dataclass(frozen=True, slots=True)
class Reference:
    """One `${...}`: an environment variable, with what to use where it is unset or empty, or a file."""

    kind: Literal["env", "file"]
    name: str
    default: str | None = None


@dataclass(frozen=True, slots=True, repr=False)
class Template:
    """Config text: plain pieces and references in order."""

    parts: tuple[str | Reference, ...]

    @classmethod
    def parse(cls, text: str) -> Template:
        """Split a text at its references.

        Raises:
            ValueError: a `${` that is none of the legal forms; the message does not repeat it.
        """
        parts: list[str | Reference] = []
        end = 0
        for token in _TOKEN.finditer(text):
            parts.append(text[end : token.start()])
            parts.append("${" if token.group() == "$${" else _reference(token.group(1)))
            end = token.end()
        parts.append(text[end:])
        return cls(tuple(part for part in parts if part != ""))

    @property
    def has_references(self) -> bool:
        """False where the text stands for itself."""
        return any(isinstance(part, Reference) for part in self.parts)

    @property
    def variables(self) -> frozenset[str]:
        """The environment variables that are referred to."""
        return frozenset(part.name for part in self.parts if isinstance(part, Reference) and part.kind == "env")

    @property
    def is_one_reference(self) -> bool:
        """True for a reference alone, without text around it and without a default."""
        return len(self.parts) == 1 and isinstance(self.parts[0], Reference) and self.parts[0].default is None

    def fill(self, env: Environment, read_file: ReadFile, *, folder: Path) -> str:
        """The text with every reference filled in; relative file names start at `folder`.

        Raises:
            MissingReferenceError: a variable is unset or empty, or a file cannot be read.
        """
        return "".join(
            part if isinstance(part, str) else _fill(part, env, read_file, folder=folder) for part in self.parts
        )

    def hide(self) -> str:
        """The text with `***` for every reference, fit to print."""
        return "".join(part if isinstance(part, str) else HIDDEN for part in self.parts)

    def __repr__(self) -> str:
        return f"Template({HIDDEN})"


@dataclass(frozen=True, slots=True, repr=False)
class Secret:
    """A value that nobody prints: `***` in str, repr and format; `reveal` is the only way to it.

    `place` is the file and key that people look for when it is missing. Relative files start at `folder`.
    """

    template: Template
    place: str
    folder: Path

    def reveal(self, env: Environment, read_file: ReadFile) -> str:
        """The secret itself, read anew at each call so that a rotated secret is seen.

        Raises:
            ConfigError: a variable is unset or empty, or a file cannot be read; names the key and the variable or file.
        """
        try:
            return self.template.fill(env, read_file, folder=self.folder)
        except MissingReferenceError as missing:
            fix = f"set it, then run the command again: {missing}"
            raise ConfigError((f"{self.place}: {missing}",), fix=fix) from missing

    @property
    def is_literal(self) -> bool:
        """True where the secret stands in the config file itself, which `doctor` may warn about."""
        return not self.template.has_references

    def __repr__(self) -> str:
        return HIDDEN

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return format(HIDDEN, spec)


def require_variables(secrets: Iterable[Secret], env: Environment) -> None:
    """Raises ConfigError for every environment variable that a secret needs and that is not set. Files are not read."""
    problems: list[str] = []
    for secret in secrets:
        try:
            secret.reveal(env, lambda _: "")
        except ConfigError as missing:
            problems += missing.problems
    if problems:
        raise ConfigError(tuple(problems), fix="set the variables, then: hudi-reconcile config validate")


def read_text_file(path: Path | str) -> str:
    """The whole text of a small UTF-8 file of this machine: the reader that commands pass in.

    Raises:
        OSError: it cannot be opened, is larger than 64 KiB, is no file (see `read_small`), or is not of this machine.
        UnicodeDecodeError: it is not UTF-8.
    """
    if isinstance(path, str):
        raise OSError("only source.password is read from a Hadoop file system; copy the file to this machine")
    content = read_small(path, LARGEST_SECRET_BYTES)
    if len(content) > LARGEST_SECRET_BYTES:
        raise OSError("larger than 64 KiB")
    return content.decode("utf-8")


def holds_secret(option: str, value: object) -> bool:
    """Whether a free option is not to be shown: by its name, or as it sets a secret among Java options.

    >>> holds_secret("fs.s3a.secret.key", "x"), holds_secret("extraJavaOptions", "-Da.keyPassword=x -Db=1")
    (True, True)
    >>> holds_secret("fs.s3a.endpoint", "http://127.0.0.1:9000")
    False
    """
    return bool(_SECRET_NAME.search(option)) or (isinstance(value, str) and bool(_SECRET_PROPERTY.search(value)))


# --- helpers ---


def _reference(body: str | None) -> Reference:
    if body is not None:
        if match := _ENV.fullmatch(body):
            return Reference("env", match.group(1), match.group(2))
        if match := _FILE.fullmatch(body):
            return Reference("file", match.group(1))
    raise ValueError(f"not a reference that is known; legal: {_LEGAL}")


def _fill(reference: Reference, env: Environment, read_file: ReadFile, *, folder: Path) -> str:
    if reference.kind == "env":
        # Empty counts as missing, as in the shell's `:-`: an empty variable is what a secret not handed on looks like.
        value = env.get(reference.name, "") or reference.default
        if value is None:
            raise MissingReferenceError(f"environment variable {reference.name} is not set, or empty")
        return value
    path = reference.name if _ADDRESS.match(reference.name) else folder / reference.name
    try:
        text = read_file(path)
    except UnicodeDecodeError:
        raise MissingReferenceError(f"file {path} is not UTF-8 text") from None
    except OSError as error:
        raise MissingReferenceError(f"file {path} cannot be read: {error.strerror or error}") from error
    return text.removesuffix("\n").removesuffix("\r") if text.endswith("\n") else text


PIPE_SECONDS = 30.0
_CHUNK = 65_536


def read_small(path: Path, largest_bytes: int) -> bytes:
    """The bytes of a file, and at most one more than `largest_bytes`, by which a caller knows that it is larger.

    Raises:
        OSError: it cannot be opened, is a folder, device or socket, or a pipe that did not end in time; `strerror` says which.
    """
    _refuse_others(os.stat(path).st_mode)  # noqa: PTH116 - opening a device may already do something
    # A pipe that nobody writes to would block in open itself.
    file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    try:
        mode = os.fstat(file).st_mode
        _refuse_others(mode)
        until = time.monotonic() + PIPE_SECONDS
        content = b""
        while len(content) <= largest_bytes:
            if stat.S_ISFIFO(mode):
                _await(file, until)
            chunk = os.read(file, min(_CHUNK, largest_bytes + 1 - len(content)))
            if not chunk:
                break
            content += chunk
        return content
    finally:
        os.close(file)


# --- helpers ---


def _refuse_others(mode: int) -> None:
    if stat.S_ISDIR(mode):
        raise OSError(errno.EISDIR, "is a folder, not a file")
    if not stat.S_ISREG(mode) and not stat.S_ISFIFO(mode):
        raise OSError(errno.EINVAL, "is a device or a socket, not a file")


def _await(file: int, until: float) -> None:
    poll = select.poll()
    poll.register(file, select.POLLIN)
    if not poll.poll(max(0.0, until - time.monotonic()) * 1000):
        raise TimeoutError(errno.ETIMEDOUT, f"is a pipe that was not written to its end within {PIPE_SECONDS:g} s")

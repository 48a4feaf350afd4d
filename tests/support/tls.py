"""Certificates for tests, and what stands between a client and its server: a TLS front, and one that asks for the password."""

from __future__ import annotations

import datetime as dt
import ipaddress
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_SSL_REQUESTS = {80877103, 80877104}
_CHUNK = 65_536
_DAY = dt.timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Certificates:
    """A root of our own, and what it signed: for the host, for another host; and a certificate that nobody signed."""

    root: Path
    right: Path
    other_host: Path
    self_signed: Path


def certificates(folder: Path, host: str) -> Certificates:
    """Fresh ones; each server's file holds its key too."""
    folder.chmod(0o755)
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "a root of tests")])
    root = _signed(name, name, key, key, None)
    path = folder / "root.pem"
    path.write_bytes(root.public_bytes(serialization.Encoding.PEM))
    return Certificates(
        path,
        _server(folder / "right.pem", host, name, key),
        _server(folder / "other.pem", "other.example", name, key),
        _server(folder / "self.pem", host, None, None),
    )


def own_address() -> str:
    """An address of this machine that is not a loopback one, where it has such; else one that leads here all the same."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe, suppress(OSError):
        probe.connect(("198.51.100.1", 9))  # sends nothing
        found = str(probe.getsockname()[0])
        if not ipaddress.ip_address(found).is_loopback:
            return found
    return "0.0.0.0"  # noqa: S104 - to connect to


@dataclass(slots=True)
class Front:
    """What listens in the server's place, and all that clients told it."""

    port: int
    heard: list[bytes] = field(default_factory=list)
    opened: ExitStack = field(default_factory=ExitStack)


@contextmanager
def tls_front(there: tuple[str, int], certificate: Path | None) -> Iterator[Front]:
    """PostgreSQL behind TLS, as a load balancer has it; without a certificate, PostgreSQL that offers none."""

    def serve(front: Front, client: socket.socket) -> None:
        plain = _startup(client)
        while struct.unpack("!I", plain[4:8])[0] in _SSL_REQUESTS:
            client, plain = _answered(front, client, certificate)
        with socket.create_connection(there) as onward:
            onward.sendall(plain)
            back = threading.Thread(target=_pipe, args=(onward, client, []), daemon=True)
            back.start()
            _pipe(client, onward, front.heard)
            back.join()

    with _listening(serve) as front:
        yield front


@contextmanager
def asking_postgres(certificate: Path | None) -> Iterator[Front]:
    """Poses as PostgreSQL and asks every client for its password in clear text; `heard` is what they answered."""

    def serve(front: Front, client: socket.socket) -> None:
        plain = _startup(client)
        while struct.unpack("!I", plain[4:8])[0] in _SSL_REQUESTS:
            client, plain = _answered(front, client, certificate)
        client.sendall(b"R" + struct.pack("!II", 8, 3))
        front.heard.append(client.recv(_CHUNK))

    with _listening(serve) as front:
        yield front


@contextmanager
def tls_listener(certificate: Path) -> Iterator[Front]:
    """Takes whatever comes over TLS, and answers nothing."""

    def serve(front: Front, client: socket.socket) -> None:
        front.heard.append(_wrapped(front, client, certificate).recv(_CHUNK))

    with _listening(serve) as front:
        yield front


@contextmanager
def asking_mysql(certificate: Path | None, *, first: bytes, then: bytes | None) -> Iterator[Front]:
    """Poses as MySQL: names one way to log in at first and, if told, switches to another; `heard` is what clients answered."""

    def serve(front: Front, client: socket.socket) -> None:
        client.sendall(_packet(0, _greeting(first, has_tls=certificate is not None)))
        number, answer = _read_packet(client)
        if certificate is not None and len(answer) == 32:  # an SSLRequest is the head of a login
            client = _wrapped(front, client, certificate)
            number, answer = _read_packet(client)
        front.heard.append(answer)
        if then is not None:
            client.sendall(_packet(number + 1, b"\xfe" + then + b"\0" + b"s" * 20 + b"\0"))
            front.heard.append(_read_packet(client)[1])

    with _listening(serve) as front:
        yield front


def _greeting(plugin: bytes, *, has_tls: bool) -> bytes:
    capabilities = 0x00BFF7DF | (0x800 if has_tls else 0)
    low, high = struct.pack("<H", capabilities & 0xFFFF), struct.pack("<H", capabilities >> 16)
    head = b"\x0a8.0.36\0" + struct.pack("<I", 1) + b"s" * 8 + b"\0" + low + b"\x2d" + struct.pack("<H", 2) + high
    return head + b"\x15" + b"\0" * 10 + b"s" * 12 + b"\0" + plugin + b"\0"


def _packet(number: int, body: bytes) -> bytes:
    return struct.pack("<I", len(body))[:3] + bytes([number]) + body


def _read_packet(client: socket.socket) -> tuple[int, bytes]:
    head = _exactly(client, 4)
    return head[3], _exactly(client, int.from_bytes(head[:3], "little"))


@contextmanager
def _listening(serve: Callable[[Front, socket.socket], None]) -> Iterator[Front]:
    threads: list[threading.Thread] = []
    with socket.create_server(("0.0.0.0", 0)) as server:  # noqa: S104 - reached by an address that is no loopback one
        front = Front(server.getsockname()[1])

        def one(client: socket.socket) -> None:
            with client, ExitStack() as opened, suppress(OSError):
                serve(replace(front, opened=opened), client)

        def accept() -> None:
            with suppress(OSError):
                while True:
                    threads.append(threading.Thread(target=one, args=(server.accept()[0],), daemon=True))
                    threads[-1].start()

        threads.append(threading.Thread(target=accept, daemon=True))
        threads[0].start()
        yield front
        with suppress(OSError):
            server.shutdown(socket.SHUT_RDWR)
    for thread in threads:
        thread.join(10)


def _answered(front: Front, client: socket.socket, certificate: Path | None) -> tuple[socket.socket, bytes]:
    client.sendall(b"N" if certificate is None else b"S")
    there = client if certificate is None else _wrapped(front, client, certificate)
    return there, _startup(there)


def _wrapped(front: Front, client: socket.socket, certificate: Path) -> ssl.SSLSocket:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    found = context.wrap_socket(client, server_side=True, do_handshake_on_connect=False)
    front.opened.callback(found.close)
    found.do_handshake()
    return found


def _startup(client: socket.socket) -> bytes:
    head = _exactly(client, 4)
    return head + _exactly(client, struct.unpack("!I", head)[0] - 4)


def _exactly(client: socket.socket, count: int) -> bytes:
    found = b""
    while len(found) < count:
        more = client.recv(count - len(found))
        if not more:
            raise OSError("closed")
        found += more
    return found


def _pipe(one: socket.socket, other: socket.socket, heard: list[bytes]) -> None:
    with suppress(OSError):
        while data := one.recv(_CHUNK):
            heard.append(data)
            other.sendall(data)
    with suppress(OSError):
        other.shutdown(socket.SHUT_WR)


def _server(path: Path, host: str, issuer: x509.Name | None, issuer_key: ec.EllipticCurvePrivateKey | None) -> Path:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
    made = _signed(name, issuer or name, key, issuer_key or key, host)
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path.write_bytes(secret + made.public_bytes(serialization.Encoding.PEM))
    path.chmod(0o644)  # the servers of tests run as other users
    return path


def _signed(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    issuer_key: ec.EllipticCurvePrivateKey,
    host: str | None,
) -> x509.Certificate:
    now = dt.datetime.now(dt.UTC)
    found = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _DAY)
        .not_valid_after(now + _DAY)
        .add_extension(x509.BasicConstraints(ca=host is None, path_length=None), critical=True)
    )
    if host is not None:
        found = found.add_extension(x509.SubjectAlternativeName([_name(host)]), critical=False)
    return found.sign(issuer_key, hashes.SHA256())


def _name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)

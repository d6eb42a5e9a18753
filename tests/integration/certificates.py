"""A certificate authority of our own and a server certificate signed by it."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.integration.engine.servers.web_servers import program


@dataclass(frozen=True)
class Certificates:
    """PEM files."""

    authority: Path
    certificate: Path
    key: Path


def make_certificates(folder: Path, *, server_days: int = 2) -> Certificates:
    """For 127.0.0.1 and localhost; readable to any user. The server's ends so many days from now."""
    authority, authority_key = folder / "ca.pem", folder / "ca.key"
    certificate, key, request = folder / "server.pem", folder / "server.key", folder / "server.csr"
    extensions = folder / "extensions"
    extensions.write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\nbasicConstraints=CA:FALSE\n")
    new_key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
    _openssl(
        "req", "-x509", *new_key, "-keyout", authority_key, "-out", authority, "-days", "2", "-subj", "/CN=Test CA"
    )
    _openssl("req", *new_key, "-keyout", key, "-out", request, "-subj", "/CN=localhost")
    _openssl(
        *("x509", "-req", "-in", request, "-CA", authority, "-CAkey", authority_key, "-CAcreateserial"),
        *("-out", certificate, "-days", str(server_days), "-extfile", extensions),
    )
    key.chmod(0o644)
    return Certificates(authority, certificate, key)


def _openssl(*arguments: object) -> None:
    subprocess.run([program("openssl"), *map(str, arguments)], check=True, capture_output=True)

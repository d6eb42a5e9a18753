"""A certificate of a testbed's server, which is its own authority."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

from benchmarks.testbed.errors import EmulationBroke

_REQUEST = ("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
_DAYS = "2"


@dataclass(frozen=True, slots=True)
class Certificate:
    """A server's certificate, which clients are to trust, and its key: files in PEM."""

    file: Path
    key: Path


def make_certificate(folder: Path, address: str) -> Certificate:
    """Make a certificate of an IP address, in files of ``folder``.

    Raises
    ------
    EmulationBroke : openssl refuses; the message has its last line.
    """
    made = Certificate(folder / "certificate.pem", folder / "key.pem")
    files = ["-keyout", str(made.key), "-out", str(made.file)]
    options = ["-days", _DAYS, "-subj", f"/CN={address}", "-addext", f"subjectAltName=IP:{address}"]
    done = subprocess.run([*_REQUEST, *files, *options], capture_output=True, text=True, check=False)
    if done.returncode:
        raise EmulationBroke(f"openssl makes no certificate: {(done.stderr.strip() or 'no reason').splitlines()[-1]}")
    return made

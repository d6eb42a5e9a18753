"""A server that takes uploads, on a testbed's server host: Apache with WebDAV, by HTTP or HTTPS."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.testbed.certificate import Certificate
from benchmarks.testbed.errors import EmulationBroke
from benchmarks.testbed.origins import AS_ORDINARY_USER, require_free, run_until_end
from benchmarks.testbed.testbed import Testbed

WEBDAV_PORT = 8080
"""A port that needs no privilege: as an ordinary user Apache has none."""

APACHE_PACKAGE = "apache2"
_MODULES_FOLDER = Path("/usr/lib/apache2/modules")
_MODULES = ("mpm_event", "authz_core", "authz_host", "dir", "mime", "dav", "dav_fs")
_TLS_MODULES = ("socache_shmcb", "ssl")

_APACHE = """\
{modules}
ServerRoot {folder}
ServerName {address}
Listen {address}:{port}
ListenBacklog 4096
PidFile {folder}/apache.pid
DefaultRuntimeDir {folder}
ErrorLog {folder}/apache.log
TypesConfig /dev/null
DavLockDB {folder}/locks
# The limits of connections as Debian ships them.
StartServers 2
MinSpareThreads 25
MaxSpareThreads 75
ThreadsPerChild 25
MaxRequestWorkers 150
KeepAlive On
MaxKeepAliveRequests 100
KeepAliveTimeout 5
{tls}
DocumentRoot {root}
<Directory {root}>
    Dav On
    LimitRequestBody 0
    Require all granted
</Directory>
"""


def find_apache() -> str | None:
    """Return Apache's program: it is in a folder that an ordinary user's PATH may lack."""
    return shutil.which("apache2", path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin")


@contextmanager
def run_webdav(bed: Testbed, root: Path, *, certificate: Certificate | None = None) -> Iterator[str]:
    """Let clients write to ``root`` by WebDAV; the value is its URL, with a slash at the end.

    A file that is being received is next to its final place, under another name.
    """
    program = find_apache()
    if program is None:
        raise EmulationBroke(f"there is no Apache; install {APACHE_PACKAGE}")
    require_free(bed, WEBDAV_PORT)
    configuration = bed.folder / "apache.conf"
    configuration.write_text(_format_configuration(bed, root, certificate), encoding="utf-8")
    log = bed.folder / "apache.err"
    command: list[str | Path] = [*AS_ORDINARY_USER, program, "-D", "FOREGROUND", "-f", configuration]
    with run_until_end(bed, bed.start(bed.server, command, log=log), WEBDAV_PORT, log):
        yield f"http{'s' if certificate else ''}://{bed.server.address}:{WEBDAV_PORT}/"


def _format_configuration(bed: Testbed, root: Path, certificate: Certificate | None) -> str:
    modules, tls = [*_MODULES], ""
    if certificate is not None:
        modules += _TLS_MODULES
        tls = f"SSLEngine on\nSSLCertificateFile {certificate.file}\nSSLCertificateKeyFile {certificate.key}"
    return _APACHE.format(
        modules="\n".join(f"LoadModule {name}_module {_MODULES_FOLDER}/mod_{name}.so" for name in modules),
        folder=bed.folder,
        address=bed.server.address,
        port=WEBDAV_PORT,
        tls=tls,
        root=root,
    )

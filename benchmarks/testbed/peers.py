"""Tools in common use for moving files, at their defaults and at a static setting, and our own engine as a tool."""

import json
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tradewind.parameters import Parameters

CLIENT = "client"
"""The client's name in our own logs."""

GLOBUS_PACKAGES = "globus-gass-copy-progs globus-gridftp-server-progs"

_OUR_AXES = ("concurrency", "parallelism", "pipelining")

DEFAULTS: Parameters | None = None
"""The tool runs without any setting."""

_MULTI_THREAD_CUTOFF = "10M"
"""The size from which rclone splits a file that is to have streams; at its default of 250M few files would be split."""

_LEAST_SPLIT = "1M"
"""The smallest piece that aria2 permits; at its default of 20M, files below 40 MB would never be split."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """Files to move: ``sizes_bytes`` by name below ``url`` (which ends with a slash), and in ``folder`` of the client.

    Tools that take a list get one of names; ours takes one of names and sizes of what it downloads, as the job files of
    transfer services have them.

    Attributes
    ----------
    folder : empty, or with the files to upload.
    scratch : an empty folder of the run, for lists and configurations.
    far_end : the server's name in our own logs; emulated paths share one address, one after another.
    ca_file : the authority that has signed the server's certificate, where there is one.
    """

    url: str
    sizes_bytes: Mapping[str, int]
    folder: Path
    scratch: Path
    far_end: str = "origin"
    ca_file: Path | None = None

    @property
    def names(self) -> Iterable[str]:
        return self.sizes_bytes

    def write_list(self, lines: Iterable[str]) -> Path:
        """Write these lines to a file of the scratch folder; return its path."""
        path = self.scratch / "list"
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        return path


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """A tool in one direction.

    ``program`` and Debian's ``package`` of it; ``command`` makes its command line, with a setting or `DEFAULTS`.
    ``axes`` : the parameters that it lets its users set. ``over_gridftp`` : its server is the GridFTP server, not the
    web server.
    """

    name: str
    program: str
    package: str
    command: Callable[[Job, Parameters | None], list[str]]
    axes: tuple[str, ...] = ()
    over_gridftp: bool = False

    @property
    def is_installed(self) -> bool:
        return shutil.which(self.program) is not None


def clean_environment(scratch: Path) -> Mapping[str, str]:
    """Return an environment in which a user's own configuration and proxies have no effect."""
    variables = {name: os.environ[name] for name in ("PATH", "LANG", "PYTHONPATH") if name in os.environ}
    return {**variables, "HOME": str(scratch), "XDG_CONFIG_HOME": str(scratch), "XDG_STATE_HOME": str(scratch)}


def _build_wget_command(job: Job, _: Parameters | None) -> list[str]:
    urls = job.write_list(job.url + name for name in job.names)
    trust = list_trust_options("--ca-certificate", job)
    return ["wget", "--no-verbose", *trust, f"--directory-prefix={job.folder}", f"--input-file={urls}"]


def _build_curl_command(job: Job, _: Parameters | None) -> list[str]:
    trust = list_trust_options("--cacert", job)
    return ["curl", "--silent", "--show-error", *trust, "--config", str(_write_curl_list(job))]


def _build_curl_parallel_command(job: Job, setting: Parameters | None) -> list[str]:
    most = ["--parallel-max", str(setting.concurrency)] if setting is not None else []
    return [*_build_curl_command(job, setting), "--parallel", *most]


def _write_curl_list(job: Job) -> Path:
    return job.write_list(f'url = "{job.url}{name}"\noutput = "{job.folder / name}"' for name in job.names)


def _build_aria2_command(job: Job, setting: Parameters | None) -> list[str]:
    urls = job.write_list(job.url + name for name in job.names)
    trust = list_trust_options("--ca-certificate", job)
    command = ["aria2c", "--quiet", "--no-conf", *trust, f"--dir={job.folder}", f"--input-file={urls}"]
    if setting is None:
        return command
    streams = setting.parallelism or 1
    command += ["--disk-cache=0"]  # received data is in files at once, by which settings are ranked
    command += [f"--max-concurrent-downloads={setting.concurrency}", f"--split={streams}"]
    return [*command, f"--max-connection-per-server={streams}", f"--min-split-size={_LEAST_SPLIT}"]


def _build_rclone_command(job: Job, setting: Parameters | None) -> list[str]:
    configuration = job.scratch / "rclone.conf"
    configuration.write_text(f"[origin]\ntype = http\nurl = {job.url}\n", encoding="utf-8")
    trust = list_trust_options("--ca-cert", job)
    command = ["rclone", "copy", "origin:", str(job.folder), "--config", str(configuration), *trust]
    if setting is None:
        return command
    command += ["--transfers", str(setting.concurrency), "--checkers", str(max(setting.concurrency or 0, 8))]
    return [*command, "--multi-thread-streams", str(setting.parallelism), "--multi-thread-cutoff", _MULTI_THREAD_CUTOFF]


def _build_globus_url_copy_command(job: Job, setting: Parameters | None) -> list[str]:
    pairs = job.write_list(f"{job.url}{name} file://{job.folder}/{name}" for name in job.names)
    return ["globus-url-copy", "-f", str(pairs), *list_globus_options(setting)]


def list_globus_options(setting: Parameters | None) -> list[str]:
    """Return the options of globus-url-copy for a setting, either way."""
    if setting is None:
        return []
    # Pipelining is a switch there; a user who sets the others for speed turns it on.
    return ["-cc", str(setting.concurrency), "-p", str(setting.parallelism), "-pp"]


def _build_tradewind_command(job: Job, setting: Parameters | None) -> list[str]:
    """Return the command of our engine: at a static setting, or with the settings that it chooses itself."""
    files = job.write_list(json.dumps({"path": name, "size_bytes": size}) for name, size in job.sizes_bytes.items())
    command = [sys.executable, "-P", "-m", "tradewind_agent", "copy", job.url, str(job.folder), "--json"]
    command += ["--manifest", str(files)]
    command += ["--base-power", "0s", "--source", job.far_end, "--destination", CLIENT]
    return [*command, *list_trust_options("--ca-file", job), *list_setting_options(setting, TRADEWIND.axes)]


def list_setting_options(setting: Parameters | None, axes: Sequence[str]) -> list[str]:
    """Return the options of our engine for a setting: all three, so that it requests no recommendation."""
    if setting is None:
        return []
    values = {axis: (getattr(setting, axis) if axis in axes else None) or 1 for axis in _OUR_AXES}
    return [word for axis, value in values.items() for word in (f"--{axis}", str(value))]


def list_trust_options(option: str, job: Job) -> list[str]:
    """Return a tool's option with the authority of the job's server; nothing without one."""
    return [] if job.ca_file is None else [option, str(job.ca_file)]


TRADEWIND = Peer(
    name="tradewind",
    program=sys.executable,
    package="",
    command=_build_tradewind_command,
    axes=_OUR_AXES,
)

PEERS = (
    Peer(name="wget", program="wget", package="wget", command=_build_wget_command),
    Peer(name="curl", program="curl", package="curl", command=_build_curl_command),
    Peer(name="curl -Z", program="curl", package="curl", command=_build_curl_parallel_command, axes=("concurrency",)),
    Peer(
        name="aria2",
        program="aria2c",
        package="aria2",
        command=_build_aria2_command,
        axes=("concurrency", "parallelism"),
    ),
    Peer(
        name="rclone",
        program="rclone",
        package="rclone",
        command=_build_rclone_command,
        axes=("concurrency", "parallelism"),
    ),
    Peer(
        name="globus-url-copy",
        program="globus-url-copy",
        package=GLOBUS_PACKAGES,
        command=_build_globus_url_copy_command,
        axes=("concurrency", "parallelism"),
        over_gridftp=True,
    ),
)
"""They are reported in this order."""


def list_missing_packages() -> list[str]:
    """Return Debian's packages of the peers and origins that this machine lacks."""
    packages = [peer.package for peer in PEERS if not peer.is_installed]
    if shutil.which("nginx", path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin") is None:
        packages.append("nginx-light")
    if shutil.which("openssl") is None:  # for certificates
        packages.append("openssl")
    return sorted(set(" ".join(packages).split()))

"""Tools in common use that upload, at their defaults and at a static setting, and our own engine as a tool.

wget and aria2 are not among them: they cannot upload a file to a web server.
"""

import sys

from benchmarks.testbed.peers import (
    CLIENT,
    GLOBUS_PACKAGES,
    Job,
    Peer,
    list_globus_options,
    list_setting_options,
    list_trust_options,
)
from tradewind.parameters import Parameters

_LEAST_CHECKERS = 8
"""rclone's default."""


def _build_curl_command(job: Job, _: Parameters | None) -> list[str]:
    return _build_curl_words(job)


def _build_curl_parallel_command(job: Job, setting: Parameters | None) -> list[str]:
    most = ["--parallel-max", str(setting.concurrency)] if setting is not None else []
    return [*_build_curl_words(job), "--parallel", *most]


def _build_curl_words(job: Job) -> list[str]:
    """Return the words that both forms share: without ``--fail`` a refused file would be a success."""
    pairs = job.write_list(f'upload-file = "{job.folder / name}"\nurl = "{job.url}{name}"' for name in job.names)
    trust = list_trust_options("--cacert", job)
    return ["curl", "--silent", "--show-error", "--fail", *trust, "--config", str(pairs)]


def _build_rclone_command(job: Job, setting: Parameters | None) -> list[str]:
    configuration = job.scratch / "rclone.conf"
    configuration.write_text(f"[origin]\ntype = webdav\nurl = {job.url}\nvendor = other\n", encoding="utf-8")
    trust = list_trust_options("--ca-cert", job)
    command = ["rclone", "copy", str(job.folder), "origin:", "--config", str(configuration), *trust]
    if setting is None:
        return command
    checkers = max(setting.concurrency or 0, _LEAST_CHECKERS)
    return [*command, "--transfers", str(setting.concurrency), "--checkers", str(checkers)]


def _build_globus_url_copy_command(job: Job, setting: Parameters | None) -> list[str]:
    pairs = job.write_list(f"file://{job.folder}/{name} {job.url}{name}" for name in job.names)
    return ["globus-url-copy", "-f", str(pairs), *list_globus_options(setting)]


def _build_tradewind_command(job: Job, setting: Parameters | None) -> list[str]:
    """Return the command of our engine: at a static setting, or with the settings that it chooses itself."""
    command = [sys.executable, "-P", "-m", "tradewind_agent", "copy", f"{job.folder}/", job.url, "--json"]
    command += ["--base-power", "0s", "--source", CLIENT, "--destination", job.far_end]
    return [*command, *list_trust_options("--ca-file", job), *list_setting_options(setting, UPLOADING_TRADEWIND.axes)]


UPLOADING_TRADEWIND = Peer(
    name="tradewind",
    program=sys.executable,
    package="",
    command=_build_tradewind_command,
    axes=("concurrency", "pipelining"),
)
"""A web server takes a file in one request, so that no file has several streams."""

UPLOADING_PEERS = (
    Peer(name="curl", program="curl", package="curl", command=_build_curl_command),
    Peer(name="curl -Z", program="curl", package="curl", command=_build_curl_parallel_command, axes=("concurrency",)),
    Peer(name="rclone", program="rclone", package="rclone", command=_build_rclone_command, axes=("concurrency",)),
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

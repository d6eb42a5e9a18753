"""Our engine and the tools that it is compared with, each at its defaults: their commands and environment."""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from benchmarks.s3.gateway import ACCESS_KEY, BUCKET, REGION, SECRET_KEY, TOOLS
from benchmarks.testbed.peers import clean_environment

OURS, AWSCLI, RCLONE = "tradewind", "awscli", "rclone"
_BOTO3_COPY = Path(__file__).with_name("boto3_copy.py")


@dataclass(frozen=True, slots=True)
class Places:
    """The two ends of a copy: objects below ``prefix``, which ends with a slash, and a local folder."""

    endpoint_url: str
    prefix: str
    folder: Path

    @property
    def address(self) -> str:
        return f"s3://{BUCKET}/{self.prefix}"


@dataclass(frozen=True, slots=True)
class StoreTool:
    """A tool; ``download`` and ``upload`` return its command line."""

    name: str
    download: Callable[[Places], Sequence[str]]
    upload: Callable[[Places], Sequence[str]]


def make_environment(scratch: Path, endpoint_url: str) -> Mapping[str, str]:
    """Return an environment in which all tools find the store and its key, and nothing of a user's own."""
    return {
        **clean_environment(scratch),
        "AWS_ACCESS_KEY_ID": ACCESS_KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
        "AWS_DEFAULT_REGION": REGION,
        "AWS_ENDPOINT_URL": endpoint_url,
        "AWS_EC2_METADATA_DISABLED": "true",
        "RCLONE_CONFIG": "/dev/null",
        "RCLONE_CONFIG_STORE_TYPE": "s3",
        "RCLONE_CONFIG_STORE_PROVIDER": "Other",
        "RCLONE_CONFIG_STORE_ENV_AUTH": "true",
        "RCLONE_CONFIG_STORE_ENDPOINT": endpoint_url,
        "RCLONE_CONFIG_STORE_REGION": REGION,
    }


def _build_ours(*places: str) -> list[str]:
    return [sys.executable, "-P", "-m", "tradewind_agent", "copy", *places, "--json"]


def _build_aws(*places: str) -> list[str]:
    return [str(TOOLS / "bin" / "aws"), "s3", "cp", "--recursive", "--only-show-errors", *places]


def _build_rclone(*places: str) -> list[str]:
    return ["rclone", "copy", *places]


def _build_s3cmd(at: Places, action: str, *places: str) -> list[str]:
    host = urlsplit(at.endpoint_url).netloc
    command = [
        str(TOOLS / "bin" / "s3cmd"),
        "--config=/dev/null",
        "--no-ssl",
        f"--host={host}",
        f"--host-bucket={host}",
    ]
    return [*command, f"--region={REGION}", "--no-progress", "--quiet", action, "--recursive", *places]


def _build_boto3(action: str, at: Places) -> list[str]:
    return [str(TOOLS / "bin" / "python"), str(_BOTO3_COPY), action, BUCKET, at.prefix, str(at.folder)]


STORE_TOOLS = (
    StoreTool(
        OURS,
        lambda at: _build_ours(at.address, f"{at.folder}/"),
        lambda at: _build_ours(f"{at.folder}/", at.address),
    ),
    StoreTool(
        AWSCLI,
        lambda at: _build_aws(at.address, str(at.folder)),
        lambda at: _build_aws(str(at.folder), at.address),
    ),
    StoreTool(
        RCLONE,
        lambda at: _build_rclone(f"store:{BUCKET}/{at.prefix}", str(at.folder)),
        lambda at: _build_rclone(str(at.folder), f"store:{BUCKET}/{at.prefix}"),
    ),
    StoreTool(
        "s3cmd",
        lambda at: _build_s3cmd(at, "get", at.address, f"{at.folder}/"),
        lambda at: _build_s3cmd(at, "put", f"{at.folder}/", at.address),
    ),
    StoreTool("boto3[crt]", lambda at: _build_boto3("download", at), lambda at: _build_boto3("upload", at)),
)
"""They are reported in this order."""

"""Our engine and the tools that it is compared with, each at its defaults: their commands and environment."""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from benchmarks.s3.gateway import ACCESS_KEY, BUCKET, REGION, SECRET_KEY, TOOLS
from benchmarks.testbed.peers import clean_environment
from tradewind.parameters import Parameters

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
    """A tool; ``download`` and ``upload`` return its command line.

    ``axes`` : the parameters that it lets its users set: by the words that ``add_setting`` returns, or by the AWS
    configuration that ``configure`` returns.
    """

    name: str
    download: Callable[[Places], Sequence[str]]
    upload: Callable[[Places], Sequence[str]]
    axes: Sequence[str] = ()
    add_setting: Callable[[Parameters], Sequence[str]] = lambda _: ()
    configure: Callable[[Parameters], str] = lambda _: ""


def make_environment(scratch: Path, endpoint_url: str, configuration: str = "") -> Mapping[str, str]:
    """Return an environment in which all tools find the store and its key, and nothing of a user's own.

    ``configuration`` : of AWS tools.
    """
    (scratch / "aws-config").write_text(configuration, encoding="utf-8")
    return {
        **clean_environment(scratch),
        "AWS_CONFIG_FILE": str(scratch / "aws-config"),
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


def _set_ours(setting: Parameters) -> list[str]:
    return [word for name, value in setting.list_known().items() for word in (f"--{name}", str(value))]


def _set_rclone(setting: Parameters) -> list[str]:
    """Return the words that set transfers, and the streams of each file: rclone has an option for each direction."""
    streams = str(setting.parallelism)
    down = ["--multi-thread-cutoff", "8M", "--multi-thread-streams", streams]
    return ["--transfers", str(setting.concurrency), *down, "--s3-upload-concurrency", streams]


def _configure_aws(setting: Parameters) -> str:
    return f"[default]\ns3 =\n  max_concurrent_requests = {setting.concurrency}\n"


STORE_TOOLS = (
    StoreTool(
        OURS,
        lambda at: _build_ours(at.address, f"{at.folder}/"),
        lambda at: _build_ours(f"{at.folder}/", at.address),
        axes=("concurrency", "parallelism", "pipelining"),
        add_setting=_set_ours,
    ),
    StoreTool(
        AWSCLI,
        lambda at: _build_aws(at.address, str(at.folder)),
        lambda at: _build_aws(str(at.folder), at.address),
        axes=("concurrency",),
        configure=_configure_aws,
    ),
    StoreTool(
        RCLONE,
        lambda at: _build_rclone(f"store:{BUCKET}/{at.prefix}", str(at.folder)),
        lambda at: _build_rclone(str(at.folder), f"store:{BUCKET}/{at.prefix}"),
        axes=("concurrency", "parallelism"),
        add_setting=_set_rclone,
    ),
    StoreTool(
        "s3cmd",
        lambda at: _build_s3cmd(at, "get", at.address, f"{at.folder}/"),
        lambda at: _build_s3cmd(at, "put", f"{at.folder}/", at.address),
    ),
    StoreTool("boto3[crt]", lambda at: _build_boto3("download", at), lambda at: _build_boto3("upload", at)),
)
"""They are reported in this order."""

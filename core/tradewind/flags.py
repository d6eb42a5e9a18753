"""A plan as command-line flags of common tools, and what a tool cannot express.

Each tool gives these parameters its own meaning; the comment next to a flag cites the tool's manual.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tradewind.parameters import Parameters
from tradewind.units import GIB, MIB

ARIA2_MAX_CONNECTIONS_PER_SERVER = 16
"""aria2 refuses more with ``-x`` (aria2c manual)."""

LEAST_PART_BYTES = 5 * MIB
"""Of each part of an upload but the last: object stores refuse less (S3 API, UploadPart)."""

LARGEST_PART_BYTES = 5 * GIB
"""Of each part (S3 API, UploadPart)."""

_GCLOUD_THREADS = 4
"""Threads in each process of `gcloud storage` by itself."""


@dataclass(frozen=True, slots=True)
class Flag:
    """Words of a command line that set one of the ``Parameters``, named by its field."""

    parameter: str
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ToolFlags:
    """Command-line flags of one tool, and the parameters that they leave out with the reason."""

    flags: tuple[Flag, ...]
    not_expressible: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """Return all flags as a command line."""
        return " ".join(word for flag in self.flags for word in flag.words)


def _build_rclone_flags(parameters: Parameters) -> ToolFlags:
    # --transfers is files at once; --multi-thread-streams applies to files above the cutoff (rclone docs, global flags)
    flags = [Flag("concurrency", ("--transfers", str(parameters.concurrency or 1)))]
    if (parameters.parallelism or 1) > 1:
        flags.append(Flag("parallelism", ("--multi-thread-streams", str(parameters.parallelism))))
        flags.append(Flag("parallelism", ("--multi-thread-cutoff", "1M")))
    else:
        flags.append(Flag("parallelism", ("--multi-thread-streams", "0")))
    if parameters.part_bytes is not None:
        # a known part means an object store: its uploads go in parts of their own, p at once (rclone docs, s3)
        flags.append(Flag("part_bytes", ("--s3-chunk-size", f"{max(parameters.part_bytes, LEAST_PART_BYTES)}B")))
        flags.append(Flag("parallelism", ("--s3-upload-concurrency", str(parameters.parallelism or 1))))
    # --buffer-size is memory to read ahead into, not the size of a request (rclone docs, global flags)
    return ToolFlags(
        tuple(flags), (*_warn_of_pipelining("rclone", parameters), *_warn_of_io_block("rclone", parameters))
    )


def _build_aria2_flags(parameters: Parameters) -> ToolFlags:
    # -j files at once, -s pieces of a file, -x connections to one server; pipelining is a switch (aria2c manual)
    streams = min(parameters.parallelism or 1, ARIA2_MAX_CONNECTIONS_PER_SERVER)
    flags = [
        Flag("concurrency", (f"-j{parameters.concurrency or 1}",)),
        Flag("parallelism", (f"-s{streams}",)),
        Flag("parallelism", (f"-x{streams}",)),
        Flag("parallelism", ("--min-split-size=1M",)),
    ]
    left_out: list[str] = []
    if (parameters.pipelining or 0) > 1:
        flags.append(Flag("pipelining", ("--enable-http-pipelining=true",)))
        left_out.append("aria2: pipelining is a switch, its depth cannot be set")
    if (parameters.parallelism or 1) > ARIA2_MAX_CONNECTIONS_PER_SERVER:
        left_out.append(f"aria2: at most {ARIA2_MAX_CONNECTIONS_PER_SERVER} connections a server")
    return ToolFlags(tuple(flags), (*left_out, *_warn_of_io_block("aria2", parameters)))


def _build_curl_flags(parameters: Parameters) -> ToolFlags:
    # -Z transfers in parallel, --parallel-max how many (curl manual)
    left_out = [*_warn_of_pipelining("curl", parameters), *_warn_of_io_block("curl", parameters)]
    if (parameters.parallelism or 1) > 1:
        left_out.append("curl: one stream a file")
    flag = Flag("concurrency", ("-Z", "--parallel-max", str(parameters.concurrency or 1)))
    return ToolFlags((flag,), tuple(left_out))


def _build_globus_url_copy_flags(parameters: Parameters) -> ToolFlags:
    # -cc files at once, -p streams a file, -pp a switch (globus-url-copy manual)
    flags = [
        Flag("concurrency", ("-cc", str(parameters.concurrency or 1))),
        Flag("parallelism", ("-p", str(parameters.parallelism or 1))),
    ]
    left_out: tuple[str, ...] = ()
    if (parameters.pipelining or 0) > 1:
        flags.append(Flag("pipelining", ("-pp",)))
        left_out = ("globus-url-copy: -pp is a switch, its depth cannot be set",)
    if parameters.io_block_bytes:
        flags.append(Flag("io_block_bytes", ("-bs", str(parameters.io_block_bytes))))
    return ToolFlags(tuple(flags), left_out)


def list_aws_settings(parameters: Parameters) -> Mapping[str, str]:
    """Return the values of the ``s3`` part of aws's configuration, by name.

    ``max_concurrent_requests`` is of files and parts together; a file of at least the threshold goes in parts
    (``aws help s3-config``).
    """
    settings = {"max_concurrent_requests": str(parameters.streams)}
    if parameters.part_bytes is not None:
        part = str(max(parameters.part_bytes, LEAST_PART_BYTES))
        settings |= {"multipart_threshold": part, "multipart_chunksize": part}
    return settings


def _build_aws_flags(parameters: Parameters) -> ToolFlags:
    names = {"max_concurrent_requests": "concurrency"}
    flags: list[Flag] = []
    for name, value in list_aws_settings(parameters).items():
        joint = ("&&",) if flags else ()
        words = (*joint, "aws", "configure", "set", f"default.s3.{name}", value)
        flags.append(Flag(names.get(name, "part_bytes"), words))
    return _make_without_pipelining("aws", flags, parameters)


def _build_s5cmd_flags(parameters: Parameters) -> ToolFlags:
    # --numworkers stands before the command and is files at once; --concurrency and --part-size (MiB) stand behind it
    # and are parts of one file (s5cmd help, s5cmd help cp)
    flags = [
        Flag("concurrency", ("--numworkers", str(parameters.concurrency or 1), "cp")),
        Flag("parallelism", ("--concurrency", str(parameters.parallelism or 1))),
    ]
    if parameters.part_bytes is not None:
        part_mib = -(-max(parameters.part_bytes, LEAST_PART_BYTES) // MIB)
        flags.append(Flag("part_bytes", ("--part-size", str(part_mib))))
    return _make_without_pipelining("s5cmd", flags, parameters)


def _build_gcloud_flags(parameters: Parameters) -> ToolFlags:
    # properties of `gcloud storage`, by variables of its environment: processes times threads are requests at once,
    # components are slices of one download; composite uploads, which leave no MD5, stay the user's decision
    # (cloud.google.com, storage: sliced object downloads, parallel composite uploads)
    threads = max(each for each in range(1, _GCLOUD_THREADS + 1) if parameters.streams % each == 0)
    values = [
        ("concurrency", "PROCESS_COUNT", parameters.streams // threads),
        ("concurrency", "THREAD_COUNT", threads),
        ("parallelism", "SLICED_OBJECT_DOWNLOAD_MAX_COMPONENTS", parameters.parallelism or 1),
    ]
    if parameters.part_bytes is not None:
        values.append(("part_bytes", "SLICED_OBJECT_DOWNLOAD_COMPONENT_SIZE", parameters.part_bytes))
        values.append(("part_bytes", "PARALLEL_COMPOSITE_UPLOAD_COMPONENT_SIZE", parameters.part_bytes))
    flags = [Flag(parameter, (f"CLOUDSDK_STORAGE_{name}={value}",)) for parameter, name, value in values]
    return _make_without_pipelining("gcloud", flags, parameters)


def _make_without_pipelining(tool: str, flags: Sequence[Flag], parameters: Parameters) -> ToolFlags:
    left_out = (*_warn_of_pipelining(tool, parameters), *_warn_of_io_block(tool, parameters))
    return ToolFlags(tuple(flags), left_out)


def _warn_of_pipelining(tool: str, parameters: Parameters) -> tuple[str, ...]:
    return (f"{tool}: has no pipelining",) if (parameters.pipelining or 0) > 1 else ()


def _warn_of_io_block(tool: str, parameters: Parameters) -> tuple[str, ...]:
    return (f"{tool}: the size of its I/O requests cannot be set",) if parameters.io_block_bytes else ()


_TOOLS: dict[str, Callable[[Parameters], ToolFlags]] = {
    "rclone": _build_rclone_flags,
    "aria2": _build_aria2_flags,
    "curl": _build_curl_flags,
    "globus-url-copy": _build_globus_url_copy_flags,
    "aws": _build_aws_flags,
    "s5cmd": _build_s5cmd_flags,
    "gcloud": _build_gcloud_flags,
}


def build_flags_for_tool(tool: str, parameters: Parameters) -> ToolFlags:
    """Return the flags of one of the known tools.

    Raises
    ------
    KeyError : the tool is not known.
    """
    return _TOOLS[tool](parameters)


def list_flags_by_tool(parameters: Parameters) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the flags of every known tool by its name, and a phrase for each parameter that a tool cannot express."""
    made = {tool: express(parameters) for tool, express in _TOOLS.items()}
    left_out = tuple(phrase for flags in made.values() for phrase in flags.not_expressible)
    return {tool: each.text for tool, each in made.items()}, left_out

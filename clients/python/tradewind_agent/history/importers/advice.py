"""What to keep instead of logs that are known to lack what a record needs."""

import re
from collections.abc import Mapping, Sequence

_CONDOR = "keep its FILE_TRANSFER_STATS_LOG, or `condor_history -transfer-history -json`"
_FTS = "keep what its server returns of /jobs/ID/files"
_GLOBUS = "print it by `globus task show -F json` or `globus task list -F json`"
_WRAP = "run the program under `tradewind wrap`"

_PRINTED: Sequence[tuple[re.Pattern[str], str]] = (
    (re.compile(r"Connecting to host \S+, port \d|\[ *ID\] Interval "), "is what iperf3 prints; run it with --json"),
    (
        re.compile(r"(?:cp|mv|sync) (?:\"?s3://|\S+ s3://)"),
        "is what s5cmd prints, without times; run it under `tradewind wrap`",
    ),
    (re.compile(r" *% Total +% Received % Xferd"), "is curl's progress; run it with -w '%{json}\\n' and -o or -O"),
    (
        re.compile(r"(?:rm|mb|rb) s3://"),
        "is what s5cmd prints when it removes or makes; there is no transfer in it",
    ),
    (
        re.compile(r"\[[\d.]+\w*B/[\d.]+\w*B\]\[ *\d+%\]\["),
        "is xrdcp's progress, without times; run it under `tradewind wrap`, or read the monitoring of the server",
    ),
    (
        re.compile(
            r"\d\d/\d\d/\d\d \d\d:\d\d:\d\d (?:\(\d+\.\d+\) )?\(\d+\):|\d{3} \(\d+\.\d{3}\.\d{3}\) |BytesRecvd = "
        ),
        f"is of HTCondor's jobs, without sizes and times of files; {_CONDOR}",
    ),
    (re.compile(r"Request ID: "), f"is what FTS's client prints; {_FTS}"),
    (
        re.compile(r"(?:INFO|DEBUG|NOTICE|WARNING|ERR) +\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d [+-]\d{4}; "),
        f"is FTS's own log of one transfer; {_FTS}",
    ),
    (re.compile(r"(?:\S+ \S+ )?ERROR \"(?:cp|mv|sync) "), f"is what s5cmd prints; {_WRAP}"),
    (re.compile(r"\[\d+\] Downloading '"), f"is what wget2 prints, without times; {_WRAP}"),
    (
        re.compile(r"Connecting to \S+ \(\S+:\d+\)$|'.*' saved$"),
        f"is what BusyBox's wget prints, without sizes and times; {_WRAP}",
    ),
    (re.compile(r"DRYRUN: "), "is a dry run of azcopy, which moved nothing"),
    (
        re.compile(r"\* +Trying |\* Connected to |time_(?:total|namelookup|connect)\s*[:=]|speed_download\s*[:=]"),
        "is what curl prints; its reports are read: run it with -w '%{json}\\n' and -o or -O",
    ),
    (
        re.compile(
            r"Task ID +\| Status|Task ID: +[0-9a-f]{8}-|Time +\| Code +\| Is Error|Source Path +\| Destination Path"
        ),
        f"is what globus prints as text; {_GLOBUS}, the events by `globus task event-list -F json`",
    ),
    (
        re.compile(r".{0,200}?\bINFO\s{1,20}(?:File .* successfully (?:down|up)loaded|Preparing to (?:down|up)load)"),
        "is what rucio's client prints; read the traces that it sends",
    ),
    (
        re.compile(
            r".{0,200}?\bsent [\d,.]{1,30} bytes  received [\d,.]{1,30} bytes"
            r"|.{0,200}?\] (?:building|receiving) file list"
        ),
        f"is of rsync, which is not read; {_WRAP}",
    ),
    (
        re.compile(
            r"(?:.{0,200}?\bsftp-server(?:\[\d+\])?: )?(?:close \".{0,4096}\" bytes read \d|open \".{0,4096}\" flags )"
        ),
        f"is of OpenSSH's SFTP server, which is not read; {_WRAP}",
    ),
    (
        re.compile(r"\S+ \S+ \S+ \[\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d [+-]\d{4}\] \""),
        "is an access log, which does not say how long its requests took",
    ),
)
"""What tools print that has no sizes or times, by lines of it, and what to keep instead."""

_OTHER_JSON: Sequence[tuple[frozenset[str], str]] = (
    (frozenset({"job_id", "job_state"}), f"is jobs of FTS without the times of their files; {_FTS}"),
    (frozenset({"source_path", "destination_path"}), f"is a list of a task's files without times; {_GLOBUS}"),
    (
        frozenset({"elapsedTime", "totalTransfers", "transferTime"}),
        "is what rclone's remote control answers, without a time of day; run rclone with --use-json-log",
    ),
    (frozenset({"transferred"}), "is what rclone's remote control answers; run rclone with --use-json-log"),
    (frozenset({"ClusterId", "ProcId"}), f"is of HTCondor's jobs, without sizes and times of files; {_CONDOR}"),
)
"""The same of JSON, by members that it has."""


def find_advice(lines: Sequence[str]) -> str | None:
    """Return what some lines are that programs print, and what to keep instead; ``None`` for others."""
    return next((advice for pattern, advice in _PRINTED if any(map(pattern.match, lines))), None)


def find_advice_on_message(message: Mapping[str, object]) -> str | None:
    """Return the same of a JSON message."""
    return next((advice for needed, advice in _OTHER_JSON if needed <= message.keys()), None)

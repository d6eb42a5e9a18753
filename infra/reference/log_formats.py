"""Log formats that the agent reads, with the names of CSV columns that it knows."""

from collections import defaultdict
from collections.abc import Iterator

from infra.reference.markdown import format_code, format_page, format_table
from tradewind_agent.history.importers.csv_logs.names import SYNONYMS
from tradewind_agent.history.importers.detect import FORMATS

INTRODUCTION = """\
What `tradewind logs upload` and `logs watch` read. The agent detects the format by the content; `--format` names it.
How to use them: [upload logs](../how-to/upload-logs.md), [follow logs](../how-to/follow-logs.md)."""

DESCRIPTIONS = {
    "gridftp": (
        "Transfer log of globus-gridftp-server, or of a server with the same lines: `DATE=… HOST=… START=… NBYTES=…`",
        "a file",
        (
            "`STREAMS` is streams per file; files at once follow from overlapping lines. Times are UTC. Messages of "
            "the server, listings and empty files are skipped. Keys may be in any case, or be members of JSON."
        ),
    ),
    "rclone": (
        (
            "Log of `rclone copy`, `sync` and `move`, as text or by `--use-json-log`, with `--stats 10s "
            "--stats-log-level NOTICE`"
        ),
        "a run of rclone",
        (
            "The stats lines hold bytes, times and files in flight; those of text are rounded and have no zone. Dry "
            "runs, and copies within a server, are left out; a run before 1.64 that did both is refused, and so is a "
            "mount or server whose log has its elapsed time alone. Of repeated attempts the last decides. As logfmt, "
            "too."
        ),
    ),
    "fts": (
        (
            "Completion messages of FTS (`transfer.fts_monitoring_complete`), a JSON object a file, and files of its "
            "jobs (`/jobs/ID/files`); also as a search exports them, as JSON or as a table"
        ),
        "a file",
        "Time is that of copying, without the preparation by the storage. Messages of starts and states are skipped.",
    ),
    "aria2": (
        "Console log of aria2c: progress summaries, notices, and the table of results",
        "a file",
        "aria2 itself rounds sizes to two or three digits. Its log file (`--log`) has no sizes.",
    ),
    "aws": (
        "Output of `aws s3 cp`, `sync` and `mv` with `--debug`, both streams in one file",
        "a run of aws",
        (
            "Without `--debug` there are no times. aws rounds its progress. Requests at once are not in the log. "
            "Copies between buckets are skipped."
        ),
    ),
    "s5cmd": (
        "Messages of `s5cmd --json`, also with `--stat`",
        "none: every line is refused",
        "s5cmd prints no times, by which a rate could be known. Run it under [`wrap`](../how-to/tune-other-tools.md).",
    ),
    "xferlog": (
        "Transfer log of FTP servers such as vsftpd, ProFTPD and wu-ftpd, and Pure-FTPd's `stats`",
        "a file",
        "The server's name is that of `--source` or `--destination`. Durations are in seconds; times have no zone.",
    ),
    "vsftpd": (
        "vsftpd's own log (`vsftpd_log_file`), with `OK DOWNLOAD: Client …` and a rate",
        "a file",
        (
            "The server's name is that of `--source` or `--destination`. A file lasts for its bytes over its rate; "
            "times have no zone. Lines for syslog have no time and are refused."
        ),
    ),
    "globus": (
        "Tasks of Globus (`globus task list -F json`, `task show`), and the events of one (`task event-list -F json`)",
        "a task",
        (
            "A task lasts from its request to its completion, with the time in the queue; by its events, from its "
            "start. Events hold the settings, but no ends. Deletions, and tasks within one "
            "endpoint, are skipped. A CSV of tasks is read as `csv`."
        ),
    ),
    "curl": (
        "Reports of `curl -w '%{json}\\n'`",
        "a transfer",
        "They have no time of day: transfers follow each other, from `--start` on.",
    ),
    "wget": (
        "Log of wget (`-o`, `-a`, or what it prints), in any language",
        "a file",
        (
            "wget rounds rates to three digits. Of several tries the last one counts; one that gave up is a failure. "
            "`--no-verbose` leaves out the rates."
        ),
    ),
    "azcopy": (
        "Log file of a job of azcopy, what it prints, or `--output-type json`",
        "a job",
        (
            "The summary holds bytes and minutes. What is printed as text has no time of day: jobs follow each other, "
            "from `--start` on. JSON needs the start of the job. Jobs that remove objects or copy within an account "
            "are skipped, and resumed ones refused: their bytes are also those of earlier runs."
        ),
    ),
    "iperf3": (
        "Reports of `iperf3 --json` and `--json-stream` on TCP",
        "a test",
        "It moves memory, not files, so it is a link of its own (mover `iperf3`) with measured round-trip times.",
    ),
    "dcache": (
        "Billing of dCache, as text files or as messages to Kafka",
        "a file",
        (
            "The server's name is that of `--source` or `--destination`. A transfer lasts as long as its client was "
            "connected. Requests, removals, tape and copies between pools are skipped."
        ),
    ),
    "xrootd": (
        (
            "Closed files of XRootD's monitoring, as collectors of the OSG and of WLCG publish them, and copies "
            "between servers (`tpc` of the g-stream)"
        ),
        "a file",
        (
            "A file lasts from open to close; one whose closing the monitoring missed is skipped. Files that were read "
            "and written are refused, and so are copies of a "
            "server whose sizes are below zero: XRootD 5.5 cuts them to 32 bits."
        ),
    ),
    "rucio": (
        "Traces of rucio's clients and of pilots, and events of its conveyor (`transfer-done`, `transfer-failed`)",
        "a file",
        (
            "Sites are the ends. Files that were there already or are read where they are, other events, and failures "
            "before the copy began, are skipped. Each attempt of the conveyor is a request of its own."
        ),
    ),
    "htcondor": (
        (
            "Transfer history of HTCondor (`FILE_TRANSFER_STATS_LOG`, `condor_history -transfer-history -json`), and "
            "ads of its plugins"
        ),
        "a file",
        (
            "Times are in seconds; the time of the connection refines them where it agrees. Of several tries only the "
            "bytes of the file count."
        ),
    ),
    "csv": (
        "A table with a header line, separated by commas, semicolons, tabs or bars",
        "a row",
        (
            "Columns and units are inferred and reported; see below. Manifests of `gsutil cp -L` and the public WAN "
            "transfer logs are such tables."
        ),
    ),
    "ndjson": (
        "The project's own records, as `POST /v1/logs` takes them",
        "a line",
        "Each line names its own ends. A rate that differs from bytes over time as units do, such as by 8, is refused.",
    ),
}
PAGE_LOG = (
    "har",
    "Log of a web page in a browser (HAR), also packed",
    "a page",
    "It goes to the analysis of connections, not to the transfers.",
)

ENVELOPES = """\
What is around the lines does not matter, for an upload and for a watch. The agent takes off, also one within another:

- prefixes of docker compose, CRI, `docker logs --timestamps`, `kubectl logs --prefix`, the journal (also as
  `journalctl -o export` and `-o verbose`), syslog (RFC 3164 and 5424, also with `#012` of rsyslog for line
  ends), systemd, logcli, GitHub's runners (also by `gh run view --log`), GitLab's, Jenkins, `ts` and `grep`, and any
  text before a JSON object;
- any other text, such as of `stern`, Airflow or `mpirun`, that stands before the lines of rclone, wget, aria2, aws or
  azcopy: it is learned from the first 200 lines. Times, counters and levels in it may differ, all else is the writer's:
  lines of several writers in one log are refused;
- JSON of docker's json-file, FireLens, the journal, beats, CloudWatch, Cloud Logging, Datadog, GELF, Loki, Splunk and
  Vector;
- levels of search exports and of WLCG's monitoring: `_source`, `fields`, `data`, also as names with dots such as
  `_source.data.tr_id`, and tables of such messages; logfmt (`level=info msg=…`) of a tool below;
- heads and tails of message brokers, messages that EOT alone separates, dictionaries that Python printed, colours of
  a terminal, quotes.

A log may be cut off, or written to just now. Its last line, if it has no line end, is read if it shows that it is
complete: JSON that can be parsed, or text of a format whose lines have a certain end. Otherwise it is refused, with the
advice to add a line break. A watch waits for the line end.

A transfer that is in a log twice, as where a broker delivers a message again or a log is appended to itself, is
recorded once; the others are skipped and counted. Equal lines of one time in full seconds may be of several
connections: they stay transfers of their own. A watch compares the lines that it reads at once.

A log is read in the order of time. Where the newest line is first, as searches sort, statistics of rclone and files of
wget are refused with the advice to sort it, such as by `tac`.

A file has one format. Lines of another one that are transfers are refused: read the file again with its `--format`.
Objects that are indented, as by `jq`, may stand among lines, also line by line in an envelope. A line in which another
begins, as where two processes wrote at once, is refused.

An upload also takes JSON arrays, indented JSON, UTF-16, UTF-32, and files packed by gzip, zstd, bzip2 or xz. Archives
such as tar and zip have to be unpacked. Names have to be in UTF-8, or in an encoding with a byte order mark."""

NOTATIONS = """\
- **Header.** Titles, comments (`#`) and Excel's `sep=` may stand before it. A second line may hold the units. It may
  stand again between rows. Lines that clients of databases draw, also in Unicode, are left out, and so are rows of
  totals, averages and percentiles that have no start, or whose first cell is no quantity and says total. A row
  without a start that is the sum of those before it is refused, and so is a file with another header between its
  rows, or whose rows are samples of one transfer that count what came since its start. So is a header
  of several lines, as pandas writes it. Names of rows that R writes without a title, in quotes, are left out.
- **Numbers** may have a decimal comma and marks of thousands. Where `1,250` may be either, `--decimal` says which.
- **Durations** may be `0:01:30`, `1 day, 2:03:04`, `1-02:03:04`, `1m30s` or `PT90S`. Those that only make sense in
  days, as spreadsheets hold them, need `--unit duration=d`. In no stated unit, ms or µs are refused below 1 Mbit/s,
  where the next finer unit gives 1 s or more. Start and end without seconds are refused below 20 min.
- **Times** may be dates in many notations, with offsets or names of zones, or epochs in s, ms, µs or ns. A time of
  day alone belongs to the column `date` (or `start date`, `end date`); an end without a date is the first such time
  after the start. A column such as `timezone` holds the zone of times without one, unless their titles say one, such
  as `start (CET)` and `end (CET)`; a zone in a line above the table, and `local`, need `--timezone`. `-5` is in
  hours; `-300`, `tz_offset_minutes` and names that mean several zones need `--timezone`. Where the clock was set
  back, a row with one of its ends in the hour that it showed twice is refused (next to a duration, and in other logs,
  the first time counts, and the report says so), and so are times over which clocks of the zone were set forward.
  Epochs are from 2001 to 2065, and from 1990 to 2100 where the title (`start_epoch`, `start_ms`) or `--unit start=s`
  says what they count. Ticks of .NET and seconds of NTP or Apple are refused. A table of ends alone gets its starts
  by the durations. Where the title of one of both times says UTC and that of the other says nothing, `--timezone` is
  refused; so is any other zone of one of both titles.
- **Months** may have names in English, German, French, Spanish, Italian, Portuguese, Dutch and Nordic languages.
- **Dates** such as `03/01/2026` or `14/03/16` are never guessed. A date that exists in one order alone settles a file,
  or rows that follow each other in time in one order alone. Otherwise the file is refused; `--date-order dmy`, `mdy` or
  `ymd` settles it. Dates with dots and years of four digits are `dmy`. Years from 90 on are of the last century.
- **Units.** Where columns differ as two units do, such as by a factor of 8, or only habit would decide, the agent
  refuses the file, and where a rate comes near to size over duration in no unit, or is below half of it in its own,
  unless a column counts what was moved. A `speed` or `rate` without a unit and without durations is refused, too.
  `--unit COLUMN=UNIT` settles it. The agent also refuses sizes in `Mb` and rates in `mb/s` without rates and times.
  Cells may hold units, such as `1.2 GiB`, `12 Mb/s` or `1,5 Go`, but no other than the title. `38M` may be of 1000 or
  of 1024, and `12M/s` of bits or of bytes: `--unit size=MiB` and `--unit rate=MB/s` say
  so for all prefixes of the column.
  A second column of rates or durations that differs from the first as units do is refused, as is a total other than the
  file size without a count of files, and a row whose duration differs so from start and end where others agree.
  A column such as `size_unit` may hold one unit. Units go up to PB and PiB. A rounded size gives way to the exact
  bytes of another column.
- **Last row.** A row without a line end may be cut off. It is read if other rows show that its last cell is complete: a
  time as long as those, as many decimals, the same unit, a known word, a quoted cell, or a column that is not
  read. Otherwise it is refused.
- **Bandwidth** is the rate of the link, unless it is bytes over time in nearly all rows: then it is what transfers
  reached. A `count` that only numbers the rows is no count of files.
- **Titles.** Two columns of one title with different values are refused, and so are bytes sent next to bytes received.
  `start` counts rather than `timestamp`. Of `transfer time` and `total time` the one counts that agrees with rate and
  size, or else the first. A size next to a compressed one, a plain `size` next to a number of files that nothing else
  explains, and `file_num`, which may count or number, are refused, and so are counts in multiples, such as `files
  (thousands)`, several settings in one column, such as `p/cc/pp`, and streams or chunks of one transfer in a row each.
  A title with `%` is of a share, and holds none of the quantities below but progress.
- **Ends** may be addresses or paths; the host counts. A local path is the end that `--source` or `--destination` names.
  Names of hosts that differ by case or by a dot at their end are one endpoint, in all formats.
- **States** may be words, phrases such as `Transfer OK`, codes, or truth values such as `WAHR` and `FAUX`. A phrase
  that says both, such as `done with errors`, is refused, and so are numbers in a column such as `status` where none
  is 0, or among words. A number in `errors` next to a state counts errors of earlier attempts, too: the state
  decides. Alone, it is a failure if it is above 0. So are `files failed`, `cancelled`, `timed out` and the like. Rows
  whose `mode`, `action` or `operation` is a dry run, a copy within the server or a `checksum` are left out, also by a
  `phase`, and so are rows of a `progress` below 100 % without a state, and rows of `localhost` or of the protocol
  `file`. A bare `percent` may be of anything: where half of the rows have 100, others are refused, and so are rows
  that were deduplicated (`dedup`) next to others. Among replies such as 200, 0 is that of none: a failure, unless
  another code decides. Titles may be put together of such words and others: `checksum_valid`, `rsync_exit_code`,
  `file_state`, `last_error`, `was_skipped`. What their cells hold has to fit, and each of several such columns
  counts. `last_error`, numbers of errors and `verified` give way to a state. Without one, `verified=false` is refused
  next to rows that were verified. Rows without a state are refused where others say that they succeeded. Without a
  column of states, so are rows that moved less than their size or than was expected, have bytes that remain, have
  fewer files, bytes or another checksum at the destination, or went on with an earlier transfer (`resumed_from`), and
  remarks that are a verdict of a failure, or begin with one, such as `FAILED: timeout`, and words of failures in a
  column of any title that holds states alone.
- **Attempts.** A failed row of a named file gives way to one of a higher `attempt`, before or behind it.
- **Settings.** Without columns of settings, files at once follow from overlapping rows. A number of threads,
  connections, jobs or the like alone is refused: it may be of files at once or of streams. So are uploads next to
  downloads, `TX` next to `RX`, and the like, without columns of the ends; commands of an FTP server keep the ends
  that are given. Settings in a text, such as a command with `--transfers 16`, or `cc=2;p=4`, are refused, too."""

COLUMNS = """\
Case, spaces and punctuation in a column's name do not matter. A unit may follow the name, such as `size (MB)` or
`rtt [ms]`. The table shows the names without punctuation. Counts may be called in more words, such as `No. of
files`, `# streams` and `number of concurrent transfers`."""


def render_log_formats() -> str:
    """Return the page of log formats."""
    return format_page(
        "Log formats",
        INTRODUCTION,
        format_table(("format", "what it is", "a record is", "to know"), _list_formats()),
        "## Envelopes\n\n" + ENVELOPES,
        "## Notations of CSV\n\n" + NOTATIONS,
        "## Columns of CSV\n\n" + COLUMNS + "\n\n" + format_table(("quantity", "names"), _list_columns()),
    )


def _list_formats() -> Iterator[tuple[str, ...]]:
    yield from ((format_code(name), *DESCRIPTIONS[name]) for name in FORMATS)
    yield (format_code(PAGE_LOG[0]), *PAGE_LOG[1:])


def _list_columns() -> Iterator[tuple[str, str]]:
    names = defaultdict(list)
    for synonym, quantity in SYNONYMS.items():
        names[quantity].append(format_code(synonym))
    yield from ((quantity.replace("_", " "), ", ".join(each)) for quantity, each in names.items())

"""Names on the wire of packed transfers; loads nothing, because servers look at them in every request."""

PACKED_CODING = "tradewind-blocks"
"""A content coding: the file as blocks, see `tradewind_agent.compression.frames`."""

IDENTITY = "identity"
"""No coding."""

WEB_CODINGS = ("zstd", "br", "gzip")
"""Codings that any web server may pack in."""

CODECS_HEADER = "Tradewind-Codecs"
"""Codecs that its sender can pack and unpack, with commas between them."""

PACK_HEADER = "Tradewind-Pack"
"""What a download is to be packed with: ``auto``, or a codec and level such as ``zstd:3``."""

LINE_HEADER = "Tradewind-Line"
"""Rate of the path in bit/s, as far as the client knows it."""

EXPECTED_HEADER = "Tradewind-Expected"
"""Expected ratio and speeds of each codec for a download, the first one first; see `planning.format_expectations`."""

AT_ONCE_HEADER = "Tradewind-At-Once"
"""Packed downloads of one client that share the path and this host's cores; the rate of the path is of all together."""

PACKED_AT_ONCE = 4
"""Default number of downloads that a server packs at once; others are sent unpacked."""

FROM_HEADER = "Tradewind-From"
"""First plain byte wanted of a packed download; goes with If-Match."""

SAMPLE_HEADER = "Tradewind-Sample"
"""A sample of a file that may be downloaded, see `tradewind_agent.compression.sampling.FileSample.format`."""

TRIED_HEADER = "Tradewind-Tried"
"""Trials of the most promising settings on that sample, as `planning.format_speeds` encodes them, for a client that
lists its codecs."""

SIZE_HEADER = "Tradewind-Size"
"""Plain bytes of the full file of a packed download."""

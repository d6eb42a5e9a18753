"""Names on the wire of packed transfers; loads nothing, because servers look at them in every request."""

PACKED_CODING = "tradewind-blocks"
"""A content coding: the file as blocks, see `tradewind_agent.compression.frames`."""

CODECS_HEADER = "Tradewind-Codecs"
"""Codecs that its sender can pack and unpack, with commas between them."""

PACK_HEADER = "Tradewind-Pack"
"""What a download is to be packed with: ``auto``, or a codec and level such as ``zstd:3``."""

LINE_HEADER = "Tradewind-Line"
"""Rate of the path in bit/s, as far as the client knows it."""

FROM_HEADER = "Tradewind-From"
"""First plain byte wanted of a packed download; goes with If-Match."""

SIZE_HEADER = "Tradewind-Size"
"""Plain bytes of the whole file that a packed download is of."""

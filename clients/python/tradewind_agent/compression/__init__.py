"""Files packed on their way: what this host can pack with, samples, streams of blocks, transfers beside the engine.

Reading order: `codecs`, `sampling`, `frames` (what is on the wire), `packing` and `unpacking` (blocks in threads),
`upload` and `download`, `copying` (what ``tradewind copy --compress`` does).
"""

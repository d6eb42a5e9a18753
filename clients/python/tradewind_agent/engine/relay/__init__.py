"""Files that go from one server to another through this host: fetched by one engine, sent by another.

Begin with `relay_engine`, then `relayed_file` (the units that are under way), `reading` and `sending`. Stores that take
files in another form than PUT make their own sending part; see `receivers`.
"""

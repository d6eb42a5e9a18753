"""Stores: places that files are copied from or to, each behind the port of `stores.port`.

Begin with `stores.places`, which finds the store of an address. A store lists what is to be fetched, says how a file is
sent to it, and what it can do; the engine moves the bytes. Another store is a module here and a scheme in `places`.
"""

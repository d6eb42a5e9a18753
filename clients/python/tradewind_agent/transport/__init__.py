"""FLD_TCP on this host: compiled for the running kernel, loaded, reported and removed; each socket may choose it.

Reading order: `parameters` (what can be set), `requirements` (what a host must have), `building` (source to object),
`libbpf` (object to kernel), `installation` (the three commands), `choosing` (one socket's congestion control). The
source is `clients/bpf/fld_tcp.bpf.c`.
"""

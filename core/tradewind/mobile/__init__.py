"""Energy of transfers on phones: what devices and radios draw, where a transfer's energy goes, when to send what.

Reading order: `profiles` (values), `catalogue` (the data files below ``data/``), `energy_split` (base, dynamic and tail
energy), `queue` (jobs that wait, and how they lie in time), `batching` (which of them wait for one another, so that a
radio's tail is paid once), `io_request` (where the size of reads and writes matters).
"""

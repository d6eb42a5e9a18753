"""Energy of transfers on phones: power of devices and radios, split of a transfer's energy, and batching of transfers.

Reading order: `profiles` (values), `catalogue` (the data files below ``data/``), `energy_split` (base, dynamic and tail
energy), `queue` (waiting jobs and their schedules), `batching` (which jobs wait for one another, so that a radio's tail
is paid once), `io_request` (when the size of reads and writes matters).
"""

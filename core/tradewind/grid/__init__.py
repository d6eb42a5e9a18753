"""The electricity that hosts run on: hourly prices and carbon intensities of regions, and what follows for transfers.

Begin with `hours`; `schedule` chooses when a transfer starts, `footprint` says what it took. Energy of the network path
stays apart from that of hosts (`network_energy`).
"""

"""Meters outside the kernel: management controllers (Redfish, IPMI DCMI) and exporters (Scaphandre, Kepler).

Begin with `source`, which opens the meter that the user names. All of them only read. `meters.choice` imports `source`.
"""

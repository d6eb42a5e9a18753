"""Copies that wait in a queue so that a radio's tail is paid once for several.

Reading order: `queue_file` (what a user writes), `advice` (when to send what), `sending` (the waiting and the copies).
"""

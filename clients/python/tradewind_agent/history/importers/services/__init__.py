"""Logs of services that have files moved for their users: FTS, Globus, rucio, HTCondor."""

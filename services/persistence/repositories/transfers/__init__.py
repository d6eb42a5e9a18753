"""Repositories of live and finished transfers: the journal of heartbeats, and owners of transfers."""

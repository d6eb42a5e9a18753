"""Redis: sessions of live transfers, streams to the database, notices to processes, and shared rate limits."""

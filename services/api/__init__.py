"""The HTTP API: routing, middleware, error documents, load shedding, and how a request may arrive."""

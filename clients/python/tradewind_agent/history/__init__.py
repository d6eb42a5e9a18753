"""Transfer history: read logs, follow those that grow, and spool records until the service has them."""

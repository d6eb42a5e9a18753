"""The benchmark of a refresh of up to 10^7 logs, and of the cost of one row, recommendation or heartbeat."""

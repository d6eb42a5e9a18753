"""Learning from logs: clusters of a link, their surfaces and SLA partitions, and the validation of a new model."""

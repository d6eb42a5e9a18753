"""What is around the lines of logs, and how documents and tables become lines."""

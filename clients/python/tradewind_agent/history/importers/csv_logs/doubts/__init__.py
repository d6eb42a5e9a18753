"""What makes a table or a row doubtful, so that it is refused rather than read wrongly."""

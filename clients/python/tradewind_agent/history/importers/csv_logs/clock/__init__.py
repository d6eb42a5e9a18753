"""When the rows of a table began and ended: notations, zones, and the clock of each row."""

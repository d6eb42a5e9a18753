"""The benchmark of the report of gains: predicted against observed gain of links, on rows that the model never saw."""

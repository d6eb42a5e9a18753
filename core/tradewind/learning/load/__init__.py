"""External load of a link, estimated from logged transfers."""

"""Files between two servers, without I/O."""

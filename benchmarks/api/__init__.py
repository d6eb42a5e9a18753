"""The benchmark of the requests that one API worker answers a second."""

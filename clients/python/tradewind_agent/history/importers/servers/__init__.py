"""Logs that servers write of the files that they sent and took: GridFTP, FTP, dCache, XRootD."""

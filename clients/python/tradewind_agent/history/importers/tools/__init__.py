"""What programs print that a user runs: aria2, aws, azcopy, curl, iperf3, s5cmd, wget."""

"""What the controller infers about the path: its base round-trip time, gains, changes, and congestion."""

"""What a copy reports when it ends: its line and document, failures, omissions, energy and bottleneck."""

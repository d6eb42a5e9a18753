"""Pages of what the tenant has, and where it is: endpoints and electricity regions."""

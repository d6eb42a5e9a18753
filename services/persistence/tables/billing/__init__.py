"""Tables of what is sold and paid: prices, customers, usage and issued statements."""

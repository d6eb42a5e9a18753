"""One small class a noun, each within the transaction and the tenant of a unit of work."""

"""The SDK: calls of API v1, with their retries, batches and traces."""

"""The v1 wire: the one definition of what crosses the API, used by the service and by the client.

Unknown fields are refused (a misspelt unit must not pass in silence), numbers are finite, times carry a zone. Absent
means unknown, never 1 or 0.
"""

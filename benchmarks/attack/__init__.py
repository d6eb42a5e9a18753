"""The service under attack: by other tenants, other customers, unauthenticated clients and other accounts."""

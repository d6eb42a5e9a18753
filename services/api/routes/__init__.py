"""The routes of API v1: one module for each resource."""

"""Issued statements: what a customer was billed for a month, with a number, for good.

`issue` issues and compares them, `opened` is what pages and calls show of one, and `file` its CSV.
"""

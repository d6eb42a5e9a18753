"""Issued statements: what a customer was billed for a month, with a number, for good.

Begin with `issue`, which issues one; `month` lists and issues all of a month, `values` are what one is made of,
`differences` what became of it later, `opened` is what pages and calls show of one, and `file` its CSV.
"""

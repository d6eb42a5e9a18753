"""Damaged input of other programs, and arbitrary requests: none of them may cause a failure of ours.

Start with `__main__`. Tests use `any_lines` of `bodies`.
"""

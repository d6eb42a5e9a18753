"""Billing: price books, quotes, monthly usage, and the replay of a draft on past requests.

Begin with `price_books`; `price_list` is what recommendations read, `usage` what statements are made of.
Other packages import `price_list` and `usage.Month`; routers and pages import the use cases.
"""

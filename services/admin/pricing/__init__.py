"""Pages that price many tiers at once (rules of a book, files of prices, labels of links), and those of who pays:
customers and statements.

Begin with `rules` and `customers`. The pages of single books are in `services.admin.pages.price_books`.
"""

"""Pages that price many tiers at once: rules of a book, files of prices, and the labels of links that rules use.

Begin with `rules`. The pages of single books are in `services.admin.pages.price_books`.
"""

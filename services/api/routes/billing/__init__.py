"""Routes of what is sold: price books with their rules and files, and what customers used.

Begin with `price_books`; `price_fields` says which parts of a price a key may see.
"""

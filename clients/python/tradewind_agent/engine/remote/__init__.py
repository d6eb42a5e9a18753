"""What there is to transfer, listed as jobs: index pages, manifests, and local folders by `engine.local`.

Begin with `source`, then `remote_tree` and `index_request`.
Import from the modules: the package itself exports nothing.
"""

"""The mover s5cmd (``s5cmd cp|sync|mv``): flags, and results by its JSON log.

Begin with `mover`. Import from the modules: the package itself exports nothing.
"""

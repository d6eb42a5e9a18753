"""The mover aws (``aws s3 cp|sync|mv``): settings by a copy of the user's configuration, results by its output.

Begin with `mover`. Import from the modules: the package itself exports nothing.
"""

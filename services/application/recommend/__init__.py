"""Recommendations: from a request to parameters for each chunk, what they reach, and their price.

Begin with `lookup.answer_request`, the one entry: it fetches the snapshot and missing models. Everything below it is
pure: `answer` for paths with history, else `unknown_path`. Others import `lookup`, `request` and `snapshot` alone.
"""

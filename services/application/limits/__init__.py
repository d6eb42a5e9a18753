"""Limits: caps on live transfers of a scope, the shares of them, and call rates of keys.

Begin with `caps`; `claims` converts between a share and a transfer's setting, `rate_limits` bounds calls.
Other packages import `Limits` and `LiveUsage`; routers and pages import the use cases.
"""

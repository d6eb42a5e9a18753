"""The warehouse for analysts: queries, saved queries, and database accounts for tools.

Begin with `query`; `database_accounts` has personal accounts, `ports` the repositories.
Routers and pages import the use cases and their values.
"""

"""Access: API keys, users, sign-in with passwords or single sign-on, and roles.

Begin with `authenticate` (keys of programs) and `sign_in` (users of pages); `ports` lists the repositories.
Other packages import `Principal`, `Visitor` and scopes; routers and pages import the use cases.
"""

"""Sign-in at an OpenID provider: the authorisation code flow and its settings."""

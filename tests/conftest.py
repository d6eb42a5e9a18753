"""Property tests are judged by what they find, never by how long an example takes."""

from hypothesis import settings

settings.register_profile("tradewind", deadline=None, derandomize=True)
settings.load_profile("tradewind")

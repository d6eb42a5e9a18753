"""How objects are sent: in one PUT, in parts, from another server, or by the store itself.

Begin with `object_upload`. `object_receiver` has what is for copies between servers.
"""

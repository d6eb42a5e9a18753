"""How requests leave a connection: `request_writer` writes heads and bodies in their order.

Begin with `request_writer`. The connection alone imports from here.
"""

"""The static checks of `./run check`: one module each where no tool does it already.

Start with `__main__`, which lists them. Each module is a program of its own.
"""

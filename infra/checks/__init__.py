"""The static checks of `./run check`: one module each where no tool does it already."""

"""Words in CSV logs that say how transfers ended, in cells and in titles."""

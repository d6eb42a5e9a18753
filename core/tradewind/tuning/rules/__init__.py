"""Rules of the controller: each proposes a setting for the next tick, and the limits cut it."""

"""When to compress what is transferred: codecs, models of time, history of ratio and speed, the choice.

Reading order: `codecs`, `model` (how long a transfer takes), `probe` (path parameters of the model), `content` and
`history` (file parameters of the model), `advice` (the choice before the transfer), `steering` (the choice during it).
`printed` has the equations as they were published, for comparison.

Source: analytic models of compressed file transfers of mobile devices; equation numbers are those of that paper.
"""

"""When to compress what is transferred: codecs, models of time, history of ratio and speed, the choice.

Reading order: `codecs` (what there is), `model` (how long a transfer takes), `probe` (what the model needs of the
path), `content` and `history` (what it needs of the file), `advice` (the choice before), `steering` (the choice on the
way). `printed` has the equations as they were published, for comparison.

Source: analytic models of compressed file transfers of mobile devices; equation numbers are those of that paper.
"""

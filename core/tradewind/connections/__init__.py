"""Connections of web pages: what a browser's log (HAR) shows of them, the rounds a transfer takes, and advice.

Reading order: `har` (the log's pages), `analysis` (their metrics), `rounds` (the model), `advice` (what to change).

After Moktan et al., "Utilizing Connection Usage Characteristics for Faster Web Data Transport", Journal of Computer
Networks and Communications 2018, called "the paper" in the modules of this package.
"""

"""Connections of web pages: what a browser's log (HAR) tells of them, the rounds a transfer takes, and advice.

After Moktan et al., "Utilizing Connection Usage Characteristics for Faster Web Data Transport", Journal of Computer
Networks and Communications 2018, called "the paper" in the modules of this package.
"""

"""The claims of five papers, one by one: the printed numbers against what our code computes or measures.

Reading order: `catalogue` (the file of claims), `printed` (numbers as far as they are printed), `finding` (comparisons
and the verdict that follows from them), one module a paper (its checks by id), `checks` (all of them); `form` (what is
measured for a claim), the modules `measured…` with their trials, `forms` (all of them), `measuring`; `__main__`.
"""

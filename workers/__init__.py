"""The workers: Celery tasks that learn models, journal streams, export and retain logs.

Begin with `workers.tasks`; `workers.parts` puts the use cases together. Nothing imports from here but the service's
process manager, by command line.
"""

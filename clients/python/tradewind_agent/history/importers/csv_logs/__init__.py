"""The importer of CSV logs of transfer sweeps: it finds their columns, their units and their times."""

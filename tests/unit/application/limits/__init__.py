"""Tests of caps and rates."""

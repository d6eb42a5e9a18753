"""Repositories of price books, quotes and monthly usage."""

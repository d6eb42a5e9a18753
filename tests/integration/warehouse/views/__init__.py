"""Views for analysts: each row counts once, and comments say what columns hold."""

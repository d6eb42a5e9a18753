"""The questions of docs/how-to/answer-questions-in-sql.md, asked of a warehouse and answered once more in Python."""

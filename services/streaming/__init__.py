"""Long answers: queries and usage files, streamed while they run and stopped when the client leaves."""

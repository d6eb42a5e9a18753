"""What others wrote, and any request at all: nothing of it may end in a failure of ours."""

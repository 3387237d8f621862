"""The report of a build: what ran when, what came out, and what it was made with."""

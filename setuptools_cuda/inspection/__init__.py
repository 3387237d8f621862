"""What is in a built file, whoever built it: device code, and what it needs from others."""

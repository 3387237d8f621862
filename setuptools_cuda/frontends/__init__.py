"""The ways in: setuptools and its build backend. They translate and decide nothing."""

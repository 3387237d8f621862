"""Targets and facts to a BuildPlan. Pure: no file, no process, no environment."""

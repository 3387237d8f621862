"""A BuildPlan to files: the build folder, the ninja file, the run."""

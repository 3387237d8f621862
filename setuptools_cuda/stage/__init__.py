"""Built files to the wheel tree or the source tree, atomically; the manifest."""

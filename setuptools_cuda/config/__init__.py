"""Words to Settings: the model, the loader, its checks and what is derived from it."""

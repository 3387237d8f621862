"""Settings to Toolchain and Architectures, each with where it was found."""

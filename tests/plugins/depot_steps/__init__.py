"""Steps for setuptools_cuda at our site: toolkits come from the depot, architectures from the list of our machines."""

"""Print what the package holds, check its results, and say where they were computed."""

from __future__ import annotations

import sys

import sample_pkg
from sample_pkg import checks, contents


def main() -> int:
    """Print the report and return 0 if every check passed, else 1."""
    print(f"sample_pkg {sample_pkg.__version__} holds")
    for line in contents.describe_contents():
        print(f"  {line}")
    device = sample_pkg.find_device()
    if device is None:
        where = f"on the CPU, since there is no GPU to use ({sample_pkg.why_no_device()})"
    else:
        capability = "{}.{}".format(*device.capability)
        driver = f"{device.driver // 1000}.{device.driver % 1000 // 10}"
        where = f"on the GPU: {device.name}, compute capability {capability}, driver for CUDA {driver}"
    print(f"checks {where}")
    if device is not None and not checks.has_cuda_core():
        print("  (kernels are not launched: cuda.core is not installed; pip install 'sample-pkg[gpu]')")
    failures = 0
    for name, check in checks.find_checks(device):
        outcome = checks.run_check(check)
        failures += outcome.failed
        print(f"  {'FAILED' if outcome.failed else 'ok':6}  {name}{outcome.note}")
    print(f"{failures} checks FAILED" if failures else f"all checks passed, {where}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

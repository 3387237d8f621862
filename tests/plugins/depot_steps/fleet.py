"""The architecture step ``fleet``: what the machines that FLEET lists, as "A100 H100", compile for."""

from __future__ import annotations

from setuptools_cuda.resolution.architecture_steps import StepContext

GPUS = {"T4": "75", "A100": "80", "L4": "89", "H100": "90a"}


def find_fleet(context: StepContext) -> list[str] | None:
    """Return the architectures of the fleet, or None where nobody lists it."""
    fleet = context.environment.get("FLEET")
    if fleet is None:
        return None
    unknown = [name for name in fleet.split() if name not in GPUS]
    if unknown:
        raise LookupError(f"FLEET: we have no {', '.join(unknown)}, but {', '.join(GPUS)}")
    return [GPUS[name] for name in fleet.split()]

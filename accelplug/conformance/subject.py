"""What is examined: a backend and its device, as the checks see them."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from accelplug import api, settings
from accelplug.activation import Device
from accelplug.errors import BadInputError, did_you_mean
from accelplug.plugins import Backend, ask, discover
from accelplug.probing import probe
from accelplug.specs import Candidate, Capabilities, Constraints, DeviceSpec, Host
from accelplug.specs.capabilities import Feature


@dataclass(frozen=True)
class Subject:
    """A backend, what its probe said in this process, and what its hooks say of its device."""

    backend: Backend
    candidate: Candidate
    quick: bool = False

    @property
    def name(self) -> str:
        return self.backend.name

    @property
    def spec(self) -> DeviceSpec:
        """Raises ValueError for a backend that didn't load; its candidate is not usable then."""
        if self.backend.spec is None:
            raise ValueError(f"backend {self.name} has no device: {self.backend.cause}")
        return self.backend.spec

    @property
    def type(self) -> str:
        """What ``torch.device`` is given."""
        return self.spec.torch_type

    @functools.cached_property
    def constraints(self) -> Constraints:
        return ask(self.backend, "accelplug_constraints", Constraints, probe=self.candidate.probe) or Constraints()

    @functools.cached_property
    def capabilities(self) -> Capabilities:
        return ask(self.backend, "accelplug_capabilities", Capabilities, probe=self.candidate.probe) or Capabilities()

    @property
    def exclusive(self) -> bool:
        """One process at a time may open a device. Any number may have a simulated one."""
        return self.spec.exclusive and not self.candidate.simulated

    def cannot(self, feature: Feature) -> str:
        """Why the device can't do it, as its backend says; "" where it can."""
        return self.capabilities.cannot.get(feature, "")

    def live(self) -> Device:
        """Makes the device live in this process."""
        return api.select(self.name)


def subject(name: str, quick: bool = False) -> Subject:
    """Finds the backend and asks its probe. Raises BadInputError for a name that no backend has."""
    values = settings.read().values
    known = discover(values.backends, values.simulate)
    for backend in known:
        if backend.name == name:
            return Subject(backend, probe(backend, values, Host()), quick)
    names = [backend.name for backend in known]
    raise BadInputError(f"unknown backend {name!r}{did_you_mean(name, names)}; known: {', '.join(names)}")

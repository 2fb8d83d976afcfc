"""vLLM's own tests, for ``pytest --accelplug-upstream vllm``: where they come from, which run, on which models.

accelplug's part (`accelplug.testing`) runs them and knows nothing of vLLM. ``selection.yaml`` is the list.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from packaging.version import Version

from accelplug.errors import BadInputError
from accelplug.specs import Host
from accelplug.testing import Target, Upstream
from accelplug_vllm.checks.installed import INSTALL, distribution
from accelplug_vllm.upstream import hub, sdist

INTRODUCTION = """\
`make test-upstream` runs a selection of vLLM's tests, of the installed version, on a simulated device, and writes
that device's section of this page. It runs `pytest --accelplug-upstream vllm`, which fetches the source distribution of
vLLM once, into the user's cache.

    make test-upstream                                                  # on neuron
    ACCELPLUG_SIMULATE=spyre make test-upstream                         # on spyre
    pytest --accelplug-upstream vllm                                    # on the device of this machine
    pytest --accelplug-upstream vllm --accelplug-upstream-select NAME   # one group of the tables below
    pytest --accelplug-upstream vllm tests/ir -k priority               # any of the project's tests
"""
RULES = "Names of models on the Hugging Face hub find small random ones that are made on the spot."


def upstream() -> Upstream:
    """Entry point ``accelplug.upstream_tests: vllm``. Raises BadInputError where a package is missing."""
    found = distribution(Host())
    if found is None:
        raise BadInputError(f"vLLM is not installed here: {INSTALL}")
    if find_spec("tblib") is None:
        raise BadInputError("vLLM's tests import the package tblib: pip install 'accelplug[upstream]'")
    version = Version(found.version).public  # the CPU wheel's has a suffix, which the sources' has not
    return Upstream(
        title="vLLM",
        version=version,
        selection=Path(__file__).with_name("selection.yaml"),
        fetch=lambda: sdist.fetch(version),
        environment=environment,
        prepare=prepare,
        introduction=INTRODUCTION,
        rules=RULES,
    )


def environment() -> Mapping[str, str]:
    """Offline, with the models of `hub`; nothing is sent anywhere."""
    return {
        "HF_HOME": str(hub.home()),
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_OFFLINE": "1",
        "VLLM_NO_USAGE_STATS": "1",
        "VLLM_LOGGING_LEVEL": "WARNING",
    }


def prepare() -> Target:
    """vLLM resolves its platform, and with it the device becomes live; then what a worker does when it starts."""
    from vllm.platforms import current_platform

    from accelplug_vllm import resolution

    if resolution.is_native():
        from vllm.v1.attention.backends.registry import AttentionBackendEnum, register_backend

        from accelplug_vllm.native import device, experts, grammar, platform, streams

        streams.install(current_platform.device_type)
        experts.register()
        grammar.install()
        current_platform.register_triton_kernel_overrides()
        register_backend(AttentionBackendEnum.CUSTOM, device.current().attention().backend or platform.ATTENTION)
    selection = resolution.decide().selection
    simulated = selection is not None and selection.chosen is not None and selection[selection.chosen].simulated
    return Target(device=current_platform.device_type, simulated=simulated)

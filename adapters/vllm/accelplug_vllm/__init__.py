"""The vLLM adapter: one entry point that turns whichever backend accelplug chooses into vLLM's platform.

vLLM calls ``register`` at least twice in every process and ``general`` once. While it resolves the platform it takes an
exception as "not here" and goes on with the CPU, so nothing that goes wrong may end in one: `resolution` answers with
the name of a platform whose import says what is wrong.
"""

from __future__ import annotations


def register() -> str | None:
    """Entry point ``vllm.platform_plugins: accelplug``. The platform's qualified name, or None to stand aside."""
    from accelplug_vllm import device_flag, resolution

    device_flag.install()
    return resolution.register()


def general() -> None:
    """Entry point ``vllm.general_plugins: accelplug_general``: the ``--device`` flag and the metrics.

    In EngineCore's own process, and in native mode, also how workers start: vLLM checks no configuration there before
    they do.
    """
    from accelplug_vllm import device_flag, handoff, metrics, resolution

    device_flag.patch_engine_args()
    metrics.publish()
    if handoff.received() is not None and resolution.is_native():
        from accelplug_vllm.native import processes

        processes.install()

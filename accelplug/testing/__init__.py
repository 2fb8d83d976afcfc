"""A project's own tests on an accelplug device: ``pytest --accelplug-upstream vllm``.

`plugin` has the options and starts a pytest in a process of its own; `session` is what runs in that one. What runs
there is data: an `Upstream` says where the tests come from, its `Selection` (YAML) which run and what is known to fail.
Files aren't edited. What is changed on the way in, `retarget` and `tolerances` say, and nothing else is.
"""

from accelplug.testing.upstream import Target, Upstream

__all__ = ["Target", "Upstream"]

"""`python -m benchmarks`: vLLM in tree against vLLM through accelplug, and what choosing a device costs."""

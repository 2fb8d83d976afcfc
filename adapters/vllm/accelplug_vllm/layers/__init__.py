"""How kernels and a vendor's own layers reach vLLM's models.

`ir` makes kernels implementations of vLLM's IR, `fused` are vLLM's layers over `accelplug.ops` where the IR has no
operator, `replacing` puts a class in a layer's place, and `wrapping` runs single layers on a device while the rest of
the model stays on the host.
"""

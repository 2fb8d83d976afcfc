"""Paged attention in PyTorch's operators: batched, masked, and with shapes that don't depend on values.

A step's batch is divided into pieces of requests that are alike (`pieces`). For each piece, once a step, it is worked
out where its queries and keys lie (`layout`) and which query may see which key (`masks`). Each layer writes its new
keys and values (`cache`), lays out those of the piece side by side and computes (`compute`). `step` puts that together;
`metadata` and `backend` are vLLM's interface to it.
"""

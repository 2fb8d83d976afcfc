"""Paged attention in PyTorch's operators: batched, masked, and with shapes that don't depend on values.

A step's batch is divided into pieces of requests that are alike (`pieces`). For each piece, once a step, it is worked
out where its keys lie and which query may see which key (`layout`, `masks`). Each layer then writes its keys and values
(`cache`), lays out those of the piece side by side and computes (`compute`). `metadata` and `backend` are vLLM's
interface to it.
"""

"""Native mode: vLLM's own engine, scheduler, model code, runner and sampler on a device that is not in vLLM's tree.

Everything about the device comes from its backend's hooks. `device` is the device; `platform` what vLLM asks of a
platform; `configuration` and `features` what is allowed and refused at start; `worker` the process that holds the
model; `attention` the one piece of model code that vLLM has no portable version of. For devices with static shapes,
`shapes` are the sizes there are, `options` what people say about them, `scheduler` and `padding` what keeps a step to
them, and `compiler` and `graphs` what compiles the model for each. What is worked around in vLLM is listed in
`accelplug_vllm.compat`.
"""

"""What people do with vLLM, on which device: `make support` runs it and writes a page.

`catalogue` and `served` have the features. `runs` starts, for each device, the program `offline` for the former and a
server for the latter; `verdicts` compares what came of them with the CPU, and `page` is what people read of it.
"""

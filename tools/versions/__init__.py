"""Which parts of the vLLM adapter work with which version of vLLM: `make test-versions` runs them and writes a table.

`fetching` gets the versions, into folders of their own. `smoke` is the program that `runs` starts with each of them,
`features` what is asked of its runs. `page` is what people read of that, and of what is there in each source alone.
"""

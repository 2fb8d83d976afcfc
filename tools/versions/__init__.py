"""Which parts of the vLLM adapter work with which version of vLLM: `make test-versions` runs them and writes a table.

`fetching` gets the versions, into folders of their own. `smoke` is the program that runs with each of them, `features`
what is asked of its runs, and `seams` what can be told from the source alone. `page` is what people read of it.
"""

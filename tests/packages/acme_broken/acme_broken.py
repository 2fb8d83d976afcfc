"""A backend that was built for another torch: its import fails as a shared library's does."""

raise OSError("libacme.so: undefined symbol: _ZN3c104impl3cow23materialize")

"""Small models of real architectures, made on the spot: for conformance, and for `make support`."""

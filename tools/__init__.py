"""What the Makefile runs, and what tests, benchmarks and examples share of it."""

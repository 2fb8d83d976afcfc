"""The documentation's site: what `make docs` generates, and how its pages are looked at."""

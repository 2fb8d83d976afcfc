"""A fallback report as text, for a notebook, and as a page with plots. Takes records, returns strings."""

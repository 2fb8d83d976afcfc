"""Running servers, seen from outside: over HTTP, with nothing of vLLM's imported."""

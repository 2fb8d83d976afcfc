"""What the measured processes run. Each program imports only what it measures."""

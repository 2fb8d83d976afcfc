"""The built-in backends: ordinary plugins, found through accelplug's own entry points."""

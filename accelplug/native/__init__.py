"""C++ libraries of accelplug's own: built against the torch that is installed, loaded without Python's headers."""

from accelplug.native.library import BuildError, Library

__all__ = ["BuildError", "Library"]

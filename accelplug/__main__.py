"""``python -m accelplug``: the command line."""

from accelplug.cli import main

if __name__ == "__main__":
    main()

"""`python -m cgraph.cgrun ...` is the runner, `cgrun ...`."""
from cgraph._commands import become


def main():
    """Becomes cgrun."""
    become("cgrun")


if __name__ == "__main__":
    main()

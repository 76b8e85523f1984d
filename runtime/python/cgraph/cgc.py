"""`python -m cgraph.cgc ...` is the compiler, `cgc ...`."""
from cgraph._commands import become


def main():
    """Becomes cgc."""
    become("cgc")


if __name__ == "__main__":
    main()

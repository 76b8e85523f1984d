"""What a method in Python may say, and ask while it is called, of the library that calls it."""
import sys


def writes(*names):
    """Says of a method that it writes these arguments: it is given copies of its own.

        @cgraph.writes("x")
        def forward(self, x):
            return self.layers(torch.from_dlpack(x))  # among them nn.ReLU(inplace=True)
    """
    def mark(function):
        function.__cgraph_writes__ = names
        return function
    return mark


def _ask(name, otherwise):
    found = sys.modules.get("cgraph_methods")  # none: no plan had such methods
    return getattr(found, name)() if found else otherwise


def current_stream():
    """The CUDA stream of the call of a method on a GPU, as an int; else None."""
    return _ask("current_stream", None)


def current_device():
    """"cuda:1", in a method of a place on that GPU, or while its object is made; else "cpu"."""
    return _ask("current_device", "cpu")

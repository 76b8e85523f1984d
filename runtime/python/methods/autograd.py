"""Methods that PyTorch differentiates, `grad by auto`. A call whose gradients are asked for keeps
its results, with their history; a later one goes back through it. It is compiled into the library,
in one namespace with helper.py.

What is kept for an object is there by the number that the compiler has given the call in its graph.
An execution's calls of an object are over before those of the next one begin, so what a failed
execution has left there is replaced, and never taken for that of another."""


def autograd_call(mode, member):
    """Returns what is called for a method, a function or the name of an object's own, with tensors
    of PyTorch's in place of views: "call" it, call it and "keep" what its gradients need, or go
    "backward"."""
    try:
        import torch
    except ImportError as error:
        raise LookupError(f"`grad by auto` differentiates by PyTorch, which this Python has not: "
                          f"{error}") from None
    return {"call": _Call, "keep": _Keep, "backward": _Backward}[mode](torch, member)


def _list(numbers):
    """A list of one comes as a number."""
    return numbers if isinstance(numbers, list) else [numbers]


class _Call:
    """Calls without a history, on the views' memory."""

    def __init__(self, torch, member):
        self.torch, self.member = torch, member

    def __call__(self, made, kept, *arguments):
        with self.torch.no_grad():
            return self.call(made, [self.tensor(each) for each in arguments])

    def call(self, made, arguments):
        if isinstance(self.member, str):
            return getattr(made, self.member)(*arguments)
        return self.member(*arguments)

    def tensor(self, argument):
        """What is no view was known when the graph was compiled."""
        is_view = hasattr(argument, "__dlpack__")
        return self.torch.from_dlpack(argument) if is_view else argument


class _Keep(_Call):
    """Calls with a history. Autograd keeps arguments for later, so they are copies."""

    def __call__(self, made, kept, *arguments):
        *arguments, numbers = arguments
        number, *with_gradients = _list(numbers)
        tensors = [self.tensor(each) for each in arguments]
        tensors = [each.clone() if isinstance(each, self.torch.Tensor) else each
                   for each in tensors]
        inputs = [tensors[i].requires_grad_() for i in with_gradients]
        with self.torch.enable_grad():
            returned = self.call(made, tensors)
        several = isinstance(returned, (tuple, list))
        results = list(returned) if several else [returned]
        kept[number] = results, inputs
        results = [each.detach() if isinstance(each, self.torch.Tensor) else each
                   for each in results]
        return tuple(results) if several else results[0]


class _Backward(_Call):
    """Adds to the gradients of the module's parameters, and returns those of the arguments."""

    def __call__(self, made, kept, *arguments):
        *gradients, numbers = arguments
        number, *of = _list(numbers)
        results, inputs = kept.pop(number)
        with_history = [(results[i], self.tensor(gradient).clone())
                        for i, gradient in zip(of, gradients)
                        if isinstance(results[i], self.torch.Tensor) and results[i].requires_grad]
        if with_history:
            self.torch.autograd.backward(*zip(*with_history))
        found = tuple(self.torch.zeros_like(each) if each.grad is None else each.grad
                      for each in inputs)
        return found if len(found) > 1 else found[0] if found else None

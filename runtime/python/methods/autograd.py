"""Methods that PyTorch differentiates, `grad by auto`. A call whose gradients are asked for keeps
its results, with their history; a later one goes back through it. It is compiled into the library,
in one namespace with helper.py.

What is kept for an object is there by the number that the compiler has given the call in its graph.
An execution's calls of an object are over before those of the next one begin, so what a failed
execution has left there is replaced; the mark that a call returns, and the call back takes, says
that both are of one execution."""
import itertools

_marks = itertools.count(1)


def autograd_call(mode, member):
    """Returns what is called for a method, a function or the name of an object's own, with tensors
    of PyTorch's in place of views: "call" it, call it and "keep" what its gradients need, or go
    "backward"."""
    modes = {"call": _Call, "keep": _Keep, "backward": _Backward}
    if mode not in modes:
        raise LookupError(f"`{mode}` is no way to call a method")
    try:
        import torch
    except ImportError as error:
        raise LookupError("`grad by auto` lets PyTorch differentiate it, and this Python has no "
                          f"PyTorch: {error}") from None
    return modes[mode](torch, member)


def _list(numbers):
    """A list of one comes as a number."""
    return numbers if isinstance(numbers, list) else [numbers]


def _results(returned):
    """What a method has returned, as a list."""
    if returned is None:
        return []
    return list(returned) if isinstance(returned, (tuple, list)) else [returned]


def _marked(results, mark):
    """As a method returns so many results: one is no tuple."""
    return (*results, mark) if results else mark


class _Call:
    """Calls without a history, on the views' memory."""

    def __init__(self, torch, member):
        self.torch, self.member = torch, member

    def __call__(self, made, kept, *arguments):
        with self.torch.no_grad():
            returned = self.call(made, [self.tensor(each) for each in arguments])
        return _marked(_results(returned), 0)

    def call(self, made, arguments):
        if isinstance(self.member, str):
            return getattr(made, self.member)(*arguments)
        return self.member(*arguments)

    def tensor(self, argument):
        """What is no view was known when the graph was compiled."""
        is_view = hasattr(argument, "__dlpack__")
        return self.torch.from_dlpack(argument) if is_view else argument

    def is_tensor(self, value):
        return isinstance(value, self.torch.Tensor)


class _Keep(_Call):
    """Calls with a history. Autograd keeps arguments for later, so they are copies; those with
    gradients are copied once more, since a method may work in place on what is no leaf."""

    def __call__(self, made, kept, *arguments):
        *arguments, numbers = arguments
        number, *with_gradients = _list(numbers)
        kept.pop(number, None)
        tensors = [self.tensor(each) for each in arguments]
        tensors = [each.clone() if self.is_tensor(each) else each for each in tensors]
        inputs = [tensors[i].requires_grad_() for i in with_gradients]
        for i in with_gradients:
            tensors[i] = tensors[i].clone()
        with self.torch.enable_grad():
            results = _results(self.call(made, tensors))
        mark = next(_marks)
        kept[number] = mark, results, inputs
        results = [each.detach() if self.is_tensor(each) else each for each in results]
        return _marked(results, mark)


class _Backward(_Call):
    """Adds to the gradients of the module's parameters, and returns those of the arguments."""

    def __call__(self, made, kept, *arguments):
        *gradients, mark, numbers = arguments
        number, *of = _list(numbers)
        kept_mark, results, inputs = kept.pop(number)
        if kept_mark != self.tensor(mark).item():
            raise RuntimeError("what was kept for its gradients is of another execution")
        pairs = [(results[i], self.tensor(gradient).clone()) for i, gradient in zip(of, gradients)]
        for result, _ in pairs:
            if not (self.is_tensor(result) and result.requires_grad) and (
                    inputs or self.is_trained(made)):
                raise RuntimeError(
                    "its result has no history for autograd to go back through, though something "
                    "here has gradients: detach(), item(), no_grad() or NumPy's array cuts it")
        pairs = [(result, gradient) for result, gradient in pairs
                 if self.is_tensor(result) and result.requires_grad]
        if pairs:
            self.torch.autograd.backward(*zip(*pairs))
        found = [self.torch.zeros_like(each) if each.grad is None else each.grad
                 for each in inputs]
        return _marked(found, next(_marks))

    def is_trained(self, made):
        return isinstance(made, self.torch.nn.Module) and any(
            each.requires_grad for each in made.parameters())

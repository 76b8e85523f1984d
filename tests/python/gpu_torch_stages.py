"""The modules of (a stand-in for) PyTorch that gpu_torch_test.py calls; no test by itself."""
import cgraph_methods
import numpy as np
import torch

MADE = []


class Layer(torch.nn.Module):
    def __init__(self, seed):
        self.made_on = torch.cuda.current_device()
        self.w = torch.tensor(np.random.default_rng(seed).random((5, 3), np.float32))
        MADE.append(self)

    def to(self, device):
        torch.delay(device, 0.2)
        return super().to(device)

    def load_state_dict(self, state):
        torch.delay(self.w.device, 0.2)
        super().load_state_dict(state)

    def here(self, x):
        """Whether the call's stream and GPU are PyTorch's."""
        stream, device = torch.cuda.current_stream(), cgraph_methods.current_device()
        assert stream.cuda_stream == cgraph_methods.current_stream() != 0
        assert device == x.device == f"cuda:{torch.cuda.current_device()}" == self.w.device
        return torch.from_dlpack(x)

    def weight(self, x):
        self.here(x)
        return self.w.clone()

    def with_history(self, x):
        made = self.here(x).clone()
        made.requires_grad = True
        return made

    def turned(self, x):
        return self.here(x).t()

    def same(self, x):
        return self.here(x)

    def aside(self, x):
        """In another stream, and memory that is that one's again when nobody holds it."""
        x, side = self.here(x), torch.cuda.Stream(self.w.device)
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            made = x.clone()
        torch.cuda.current_stream().wait_stream(side)
        return made

    def on_host(self, x):
        self.here(x)
        return torch.tensor(np.zeros((5, 3), np.float32))

    def fail(self, x):
        self.here(x)
        raise ValueError("as asked")


class Host(torch.nn.Module):
    def __init__(self):
        self.w = torch.tensor(np.ones((5, 3), np.float32))

    def where(self, x):
        assert self.w.device == "cpu" and torch.cuda.current_stream().cuda_stream == 0
        return np.array(x)

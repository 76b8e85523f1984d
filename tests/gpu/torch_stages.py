"""The modules whose methods torch_methods.py calls; no test by itself. They run on a CPU, too."""
import torch

BUSY = 20_000_000  # cycles of a GPU: some 10 ms
MADE = []


def on_gpu(x):
    return x.device != "cpu"


class Stage(torch.nn.Module):
    def __init__(self, width, seed):
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        self.layer = torch.nn.Linear(width, width)
        self.norm = torch.nn.LayerNorm(width)
        for parameter in self.layer.parameters():
            torch.nn.init.uniform_(parameter, -0.3, 0.3, generator=generator)
        self.optimizer = torch.optim.AdamW(self.parameters(), lr=0.01)
        MADE.append(self)

    def compute(self, x):
        return self.norm(torch.tanh(self.layer(x)))

    def forward(self, x):
        """What is here in time only where the call's stream is PyTorch's."""
        if on_gpu(x):
            import cgraph_methods
            stream = torch.cuda.current_stream()
            assert stream.cuda_stream == cgraph_methods.current_stream() != 0
            assert f"cuda:{torch.cuda.current_device()}" == x.device
            torch.cuda._sleep(BUSY)
        return self.compute(torch.from_dlpack(x))

    def into(self, x, out):
        torch.from_dlpack(out).copy_(self.compute(torch.from_dlpack(x)).detach())

    def aside(self, x):
        """In a stream of its own, whose memory is that stream's."""
        if not on_gpu(x):
            return self.compute(torch.from_dlpack(x))
        x, side = torch.from_dlpack(x), torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            torch.cuda._sleep(BUSY)
            made = self.compute(x).detach()
        torch.cuda.current_stream().wait_stream(side)
        return made

    def turned(self, x):
        return torch.from_dlpack(x).t()

    def step(self, x):
        self.optimizer.zero_grad()
        loss = self.compute(torch.from_dlpack(x).clone()).sub(0.5).square().mean()
        loss.backward()
        self.optimizer.step()
        return loss.detach()

    def same(self, x):
        return torch.from_dlpack(x)

    def on_host(self, x):
        return torch.zeros(x.shape)

    def fail(self, x):
        raise ValueError("as asked")

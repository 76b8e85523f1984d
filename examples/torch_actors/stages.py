"""The stages of torch_actors.cgraph: modules of PyTorch's, each with its optimizer, as somebody
writes them who has never heard of cgraph."""
import torch
from torch import nn

torch.set_num_threads(1)  # each stage may have a process of its own
RATE, MOMENTUM = 0.1, 0.9


class Stage(nn.Module):
    """What both have."""

    def __init__(self, seed, *layers):
        super().__init__()
        self.layers = nn.Sequential(*layers)
        # Not torch.manual_seed(): each stage begins alike in one process and in one of its own.
        generator = torch.Generator().manual_seed(seed)
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -0.3, 0.3, generator=generator)
        self.optimizer = torch.optim.SGD(self.parameters(), lr=RATE, momentum=MOMENTUM)

    def forward(self, x):
        return self.layers(x)

    def update(self):
        self.optimizer.step()
        self.optimizer.zero_grad()

    def save(self, path):
        torch.save({"stage": self.state_dict(), "optimizer": self.optimizer.state_dict()}, path)

    def load(self, path):
        saved = torch.load(path)
        self.load_state_dict(saved["stage"])
        self.optimizer.load_state_dict(saved["optimizer"])


class First(Stage):
    def __init__(self, inputs, width, seed):
        super().__init__(seed, nn.Linear(inputs, width), nn.Tanh())


class Second(Stage):
    def __init__(self, width, classes, seed):
        super().__init__(seed, nn.Linear(width, width), nn.Tanh(), nn.Linear(width, classes))

    def loss(self, h, label):
        return nn.functional.cross_entropy(self(h), label)

#!/usr/bin/env python3
"""digits.cgraph and its command, written by hand in PyTorch: the same network, batches that are
moved, optimizer, rate; each epoch in another order; losses and the share of test images that are
right are printed; states are saved every 880 steps, and a run goes on behind those that it finds.

    digits_torch.py --save-state STATES.pt [--epochs 400]    # where split.py wrote the images
"""
import argparse
import math
import os

import numpy as np
import torch
from torch import nn
from torch.nn import functional

BATCH, HIDDEN, EPOCHS, RATE, SHUFFLE, EVERY = 64, 128, 400, 0.1, 1, 880


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(64, HIDDEN)
        self.fc2 = nn.Linear(HIDDEN, 10)
        for layer in (self.fc1, self.fc2):
            nn.init.normal_(layer.weight, std=math.sqrt(2 / layer.in_features))
            nn.init.zeros_(layer.bias)

    def forward(self, x):
        return self.fc2(functional.gelu(self.fc1(x)))


def moved(x, step):
    """Every other batch is moved by -1, 0 or 1 pixels each way."""
    if step % 2 == 0:
        return x
    down, right = step // 2 % 3, step // 6 % 3
    canvas = torch.zeros(len(x), 10, 10)
    canvas[:, down:down + 8, right:right + 8] = x.view(-1, 8, 8)
    return canvas[:, 1:9, 1:9].reshape(-1, 64)


def order(rows, epoch):
    generator = torch.Generator().manual_seed(SHUFFLE * 1_000_003 + epoch)
    return torch.randperm(rows, generator=generator)


class Training:
    def __init__(self, net):
        self.net, self.step = net, 0
        weights = [p for p in net.parameters() if p.dim() > 1]
        biases = [p for p in net.parameters() if p.dim() == 1]
        self.optimizer = torch.optim.SGD([{"params": weights, "weight_decay": 0.0003},
                                          {"params": biases}], lr=RATE, momentum=0.9)
        self.train_x, self.train_y, self.test_x, self.test_y = (
            torch.from_numpy(np.load(f"{name}.npy"))
            for name in ("train_x", "train_y", "test_x", "test_y"))
        self.steps_of_epoch = len(self.train_x) // BATCH

    def load(self, path):
        states = torch.load(path)
        self.net.load_state_dict(states["net"])
        self.optimizer.load_state_dict(states["optimizer"])
        self.step = states["step"]

    def save(self, path):
        states = {"net": self.net.state_dict(), "optimizer": self.optimizer.state_dict(),
                  "step": self.step}
        torch.save(states, f"{path}.tmp")
        os.replace(f"{path}.tmp", path)

    def update(self, rows):
        x = moved(self.train_x[rows], self.step)
        loss = functional.cross_entropy(self.net(x), self.train_y[rows])
        self.optimizer.zero_grad()
        loss.backward()
        done = self.step / (EPOCHS * self.steps_of_epoch)
        for group in self.optimizer.param_groups:
            group["lr"] = RATE * (0.5 + 0.5 * math.cos(math.pi * done))
        self.optimizer.step()
        self.step += 1
        return loss.item()

    def right(self):
        with torch.no_grad():
            return (self.net(self.test_x).argmax(dim=1) == self.test_y).float().mean().item()

    def run(self, epochs, path):
        losses = []
        for epoch in range(self.step // self.steps_of_epoch, epochs):
            batches = order(len(self.train_x), epoch).view(-1, BATCH)
            for rows in batches[self.step % self.steps_of_epoch:]:
                losses.append(self.update(rows))
                if self.step % EVERY == 0:
                    self.save(path)
                    print(f"execution={self.step} loss={np.mean(losses[-EVERY:]):.6g} "
                          f"right={self.right():.6g}")
        self.save(path)
        return losses


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--save-state", required=True)
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    arguments = parser.parse_args()
    torch.manual_seed(1)
    training = Training(Net())
    if os.path.exists(arguments.save_state):
        training.load(arguments.save_state)
    training.run(arguments.epochs, arguments.save_state)


if __name__ == "__main__":
    main()

"""The training of moe.cgraph in PyTorch, on one device and by hand on several.

Beside moe.cgraph is counted what a training on several devices needs: all but "one device". Lines
of `load` are counted as the seed of a generator would be.
"""
import torch
import torch.distributed as dist
import torch.distributed.nn.functional as differentiable
import torch.nn.functional as F
from torch import nn

from data import load

EXPERTS, CAPACITY, GROUPS, E, HIDDEN, RATE = 4, 6, 4, 32, 64, 0.003


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Parameter(torch.randn(64, E) * 0.18)
        self.gate = nn.Parameter(torch.randn(E, EXPERTS) * 0.18)
        self.last = nn.Parameter(torch.randn(E, 10) * 0.18)

    def route(self, x):
        """What is in the slots, how it comes back, and how unlike the use of the experts is."""
        h = torch.relu(x @ self.first)
        p = torch.softmax(h @ self.gate, dim=-1)
        expert = p.argmax(dim=-1)
        chosen = F.one_hot(expert, EXPERTS).float()
        place = (chosen.cumsum(dim=1) * chosen).sum(dim=-1).long() - 1
        slot = torch.where(place < CAPACITY, expert * CAPACITY + place, -1)
        to = (slot[:, None, :] == torch.arange(EXPERTS * CAPACITY)[:, None]).float()
        back = to * p.max(dim=-1).values[:, None, :]
        balance = (chosen.mean(dim=1) * p.mean(dim=1)).mean() * EXPERTS * EXPERTS
        return h, (to @ h).transpose(0, 1).contiguous(), back, balance

    def loss(self, h, back, made, y):
        h = h + back.transpose(1, 2) @ made.transpose(0, 1)
        return F.cross_entropy((h @ self.last).flatten(0, 1), y.flatten())


class Experts(nn.Module):
    def __init__(self, count):
        super().__init__()
        self.up = nn.Parameter(torch.randn(count, E, HIDDEN) * 0.18)
        self.down = nn.Parameter(torch.randn(count, HIDDEN, E) * 0.12)

    def forward(self, x, parts):
        """Of slots that have come from so many devices."""
        own = x.unflatten(0, (parts, self.up.shape[0], CAPACITY)).transpose(0, 1)
        made = torch.relu(own.flatten(1, 3) @ self.up) @ self.down
        return made.view_as(own).transpose(0, 1).reshape(x.shape)


# ---- one device ----------------------------------------------------------------------------------
def train(weights, images, labels, steps):
    """The loss of each step. `weights` are those of a saved state, by their names."""
    net, experts = Net(), Experts(EXPERTS)
    load(net, weights, "net[0].")
    load(experts, weights, "experts[0].")
    optimizer = torch.optim.AdamW([*net.parameters(), *experts.parameters()], RATE)
    for x, y in zip(images.split(GROUPS)[:steps], labels.split(GROUPS)):
        h, slots, back, balance = net.route(x)
        loss = net.loss(h, back, experts(slots, 1), y)
        optimizer.zero_grad()
        (loss + 0.1 * balance).backward()
        optimizer.step()
        yield loss.item()


# ---- several devices -----------------------------------------------------------------------------
def all_to_all(x):
    return differentiable.all_to_all_single(torch.empty_like(x), x.contiguous())


def train_divided(weights, images, labels, steps, **group_of_all):
    dist.init_process_group(**group_of_all)
    rank, world = dist.get_rank(), dist.get_world_size()
    net, experts = Net(), Experts(EXPERTS // world)
    load(net, weights, "net[0].")
    load(experts, weights, "experts[0].", rank, world)
    optimizer = torch.optim.AdamW([*net.parameters(), *experts.parameters()], RATE)
    for x, y in zip(images.split(GROUPS)[:steps], labels.split(GROUPS)):
        x, y = x.chunk(world)[rank], y.chunk(world)[rank]
        h, slots, back, balance = net.route(x)
        made = all_to_all(experts(all_to_all(slots), world))
        loss = net.loss(h, back, made, y) / world
        optimizer.zero_grad()
        (loss + 0.1 * balance / world).backward()
        for each in net.parameters():
            dist.all_reduce(each.grad)
        optimizer.step()
        totals = torch.stack([loss, balance / world]).detach()
        dist.all_reduce(totals)
        yield totals[0].item()
    dist.destroy_process_group()

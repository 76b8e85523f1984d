"""The training of fsdp.cgraph in PyTorch, on one device and by hand on several.

Beside fsdp.cgraph is counted what a training on several devices needs: all but "one device". Lines
of `load` are counted as the seed of a generator would be. PyTorch has a library that does the same
for its modules, `fully_shard`; what stands here is what it does for these.
"""
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

from data import load

BLOCKS, ROWS, E, HIDDEN, RATE = 4, 64, 64, 256, 0.001


class Block(nn.Module):
    """One of `parts` parts of a block's weights."""

    def __init__(self, parts=1):
        super().__init__()
        self.up = nn.Parameter(torch.randn(E // parts, HIDDEN) * 0.1)
        self.down = nn.Parameter(torch.randn(HIDDEN // parts, E) * 0.1)


class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.randn(E, 10) * 0.1)


def made(x, up, down):
    return x + torch.relu(x @ up) @ down


# ---- one device ----------------------------------------------------------------------------------
def train(weights, images, labels, steps):
    """The loss of each step. `weights` are those of a saved state, by their names."""
    blocks, head = nn.ModuleList(Block() for _ in range(BLOCKS)), Head()
    load(head, weights, "head[0].")
    for n, each in enumerate(blocks):
        load(each, weights, f"block[{n}, 0].")
    optimizer = torch.optim.AdamW([*blocks.parameters(), head.w], RATE)
    for h, y in zip(images.split(ROWS)[:steps], labels.split(ROWS)):
        for each in blocks:
            h = made(h, each.up, each.down)
        loss = F.cross_entropy(h @ head.w, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        yield loss.item()


# ---- several devices -----------------------------------------------------------------------------
def gather(each, world):
    """Begins to gather the weights of a block."""
    parts = [each.up.detach(), each.down.detach()]
    whole = [torch.empty(world * part.shape[0], part.shape[1]) for part in parts]
    return whole, [dist.all_gather_into_tensor(w, part, async_op=True)
                   for w, part in zip(whole, parts)]


def gathered(whole, works):
    for work in works:
        work.wait()
    return whole


def train_divided(weights, images, labels, steps, **group_of_all):
    dist.init_process_group(**group_of_all)
    rank, world = dist.get_rank(), dist.get_world_size()
    blocks, head = nn.ModuleList(Block(world) for _ in range(BLOCKS)), Head()
    load(head, weights, "head[0].")
    for n, each in enumerate(blocks):
        load(each, weights, f"block[{n}, 0].", rank, world)
    optimizer = torch.optim.AdamW([*blocks.parameters(), head.w], RATE)
    for x, y in zip(images.split(ROWS)[:steps], labels.split(ROWS)):
        h, y = [x.chunk(world)[rank]], y.chunk(world)[rank]
        ahead = gather(blocks[0], world)
        for n in range(BLOCKS):
            whole = gathered(*ahead)
            if n + 1 < BLOCKS:
                ahead = gather(blocks[n + 1], world)
            with torch.no_grad():
                h.append(made(h[n], *whole))
        last = h[BLOCKS].requires_grad_()
        loss = F.cross_entropy(last @ head.w, y) / world
        optimizer.zero_grad()
        loss.backward()
        works = [dist.all_reduce(head.w.grad, async_op=True)]
        gy = last.grad
        ahead = gather(blocks[BLOCKS - 1], world)
        for n in reversed(range(BLOCKS)):
            whole = [w.requires_grad_() for w in gathered(*ahead)]
            if n > 0:
                ahead = gather(blocks[n - 1], world)
            x = h[n].detach().requires_grad_()
            made(x, *whole).backward(gy)
            gy = x.grad
            for part, w in zip([blocks[n].up, blocks[n].down], whole):
                part.grad = torch.empty_like(part)
                works.append(dist.reduce_scatter_tensor(part.grad, w.grad, async_op=True))
        for work in works:
            work.wait()
        optimizer.step()
        total = loss.detach()
        dist.all_reduce(total)
        yield total.item()
    dist.destroy_process_group()

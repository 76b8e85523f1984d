"""The training of clip.cgraph in PyTorch, on one device and by hand on several.

Beside clip.cgraph is counted what a training on several devices needs: all but "one device". Lines
of `load` are counted as the seed of a generator would be.
"""
import torch
import torch.distributed as dist
import torch.distributed.nn.functional as differentiable
import torch.nn.functional as F
from torch import nn

from data import load

I, T, M = 2, 2, 2
B, S, LETTERS, LAYERS, W, E, SHARP, RATE = 10, 5, 27, 4, 32, 32, 10.0, 0.001


class Images(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Parameter(torch.randn(16, 1, 3, 3) * 0.3)
        self.second = nn.Parameter(torch.randn(32, 16, 3, 3) * 0.12)
        self.out = nn.Parameter(torch.randn(128, E) * 0.09)

    def forward(self, x):
        h = torch.relu(F.conv2d(x.view(-1, 1, 8, 8), self.first, stride=2, padding=1))
        h = torch.relu(F.conv2d(h, self.second, stride=2, padding=1))
        return F.normalize(h.flatten(1) @ self.out)


class Letters(nn.Module):
    def __init__(self):
        super().__init__()
        self.letter = nn.Parameter(torch.randn(LETTERS, W) * 0.3)
        self.position = nn.Parameter(torch.randn(S, W) * 0.3)

    def forward(self, x):
        return self.letter[x] + self.position


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Parameter(torch.randn(3, W, W) * 0.18)
        self.up = nn.Parameter(torch.randn(W, 4 * W) * 0.18)
        self.down = nn.Parameter(torch.randn(4 * W, W) * 0.09)

    def forward(self, x):
        q, k, v = F.rms_norm(x, (W,), eps=1e-6) @ self.qkv[:, None]
        x = x + torch.softmax(q @ k.transpose(1, 2) / W ** 0.5, dim=-1) @ v
        return x + torch.relu(F.rms_norm(x, (W,), eps=1e-6) @ self.up) @ self.down


class Text(nn.Module):
    def __init__(self):
        super().__init__()
        self.out = nn.Parameter(torch.randn(W, E) * 0.18)

    def forward(self, x):
        return F.normalize(x.mean(dim=1) @ self.out)


def contrast(mine, texts, images, own):
    """Of these images, and of the texts that belong to them."""
    by_image = F.cross_entropy(mine @ texts.T * SHARP, own)
    return (by_image + F.cross_entropy(texts[own] @ images.T * SHARP, own)) / 2


# ---- one device ----------------------------------------------------------------------------------
def train(weights, images, names, steps):
    """The loss of each step. `weights` are those of a saved state, by their names."""
    encoder, layers = Images(), [Layer() for _ in range(LAYERS)]
    texts = nn.Sequential(Letters(), *layers, Text())
    load(encoder, weights, "images[0].")
    load(texts[0], weights, "letters.")
    for n, each in enumerate(layers):
        load(each, weights, f"layer[{n}].")
    load(texts[-1], weights, "text.")
    optimizer = torch.optim.AdamW([*encoder.parameters(), *texts.parameters()], RATE)
    for x, y in zip(images.split(B)[:steps], names.split(B)):
        e = encoder(x)
        loss = contrast(e, texts(y), e, torch.arange(B))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        yield loss.item()


# ---- several devices -----------------------------------------------------------------------------
def train_images(weights, images, steps, group, joint):
    rank = dist.get_rank()
    encoder = Images()
    load(encoder, weights, "images[0].")
    optimizer = torch.optim.AdamW(encoder.parameters(), RATE)
    own = torch.arange(B).chunk(I)[rank]
    for x in images.split(B)[:steps]:
        mine = encoder(x.chunk(I)[rank])
        all_of = torch.cat(differentiable.all_gather(mine, group=group))
        texts = torch.empty(B, E)
        dist.broadcast(texts, I + T - 1, group=joint)
        texts.requires_grad_()
        loss = contrast(mine, texts, all_of, own) / I
        optimizer.zero_grad()
        loss.backward()
        dist.reduce(texts.grad, I + T - 1, group=joint)
        for each in encoder.parameters():
            dist.all_reduce(each.grad, group=group)
        optimizer.step()
        total = loss.detach()
        dist.all_reduce(total, group=group)
        yield total.item()


def train_texts(weights, names, steps, joint):
    rank, per = dist.get_rank(), LAYERS // T
    stage = rank - I
    is_first, is_last = stage == 0, stage == T - 1
    modules = nn.Sequential(*[Layer() for _ in range(per)])
    for n, each in enumerate(modules):
        load(each, weights, f"layer[{stage * per + n}].")
    if is_first:
        modules.insert(0, Letters())
        load(modules[0], weights, "letters.")
    if is_last:
        modules.append(Text())
        load(modules[-1], weights, "text.")
    optimizer = torch.optim.AdamW(modules.parameters(), RATE)
    for y in names.split(B)[:steps]:
        given, made, sends = [], [], []
        for m in range(M):
            h = y.chunk(M)[m]
            if not is_first:
                h = torch.empty(B // M, S, W)
                dist.recv(h, rank - 1)
                h.requires_grad_()
            given.append(h)
            made.append(modules(h))
            if not is_last:
                sends.append(dist.isend(made[m].detach(), rank + 1))
        if is_last:
            dist.broadcast(torch.cat(made).detach(), rank, group=joint)
            gradient = torch.zeros(B, E)
            dist.reduce(gradient, rank, group=joint)
        optimizer.zero_grad()
        for m in range(M):
            if is_last:
                gy = gradient.chunk(M)[m]
            else:
                gy = torch.empty(B // M, S, W)
                dist.recv(gy, rank + 1)
            made[m].backward(gy)
            if not is_first:
                sends.append(dist.isend(given[m].grad, rank - 1))
        for send in sends:
            send.wait()
        optimizer.step()
        yield None


def train_divided(weights, images, names, steps, **group_of_all):
    dist.init_process_group(**group_of_all)
    group = dist.new_group(range(I))
    joint = dist.new_group([*range(I), I + T - 1])
    if dist.get_rank() < I:
        yield from train_images(weights, images, steps, group, joint)
    else:
        yield from train_texts(weights, names, steps, joint)
    dist.destroy_process_group()

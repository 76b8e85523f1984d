#!/usr/bin/env python3
"""The training of gpt.cgraph in PyTorch, as somebody writes it by hand: data x pipeline x tensor
parallel over processes that torchrun starts. Prints the loss of each step.

  gpt_torch.py START.safetensors TOKENS.npy NEXT.npy STEPS        DP, PP, TP: by the environment
"""
import os
import sys

import numpy as np
import safetensors.torch
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.pipelining import PipelineStage, Schedule1F1B
from torch.nn import functional

DP, PP, TP = (int(os.environ.get(name, "1")) for name in ("DP", "PP", "TP"))
M, B, S, V, LAYERS, HEADS, E = 2, 4, 128, 128, 4, 8, 256
H, PER, RATE = E // HEADS, LAYERS // PP, 0.0003


class ToAll(torch.autograd.Function):
    """What every device of a layer reads: its gradients are summed."""

    @staticmethod
    def forward(ctx, x, group):
        ctx.group = group
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        g = g.contiguous()
        dist.all_reduce(g, group=ctx.group)
        return g, None


class FromAll(torch.autograd.Function):
    """The sum of what the devices of a layer make."""

    @staticmethod
    def forward(ctx, x, group):
        x = x.contiguous()
        dist.all_reduce(x, group=group)
        return x

    @staticmethod
    def backward(ctx, g):
        return g, None


class Layer(nn.Module):
    def __init__(self, group):
        super().__init__()
        self.group = group
        self.norms = nn.ModuleList(nn.LayerNorm(E) for _ in range(2))
        self.qkv = nn.Linear(E, 3 * E // TP)
        self.out = nn.Linear(E // TP, E, bias=False)
        self.out_bias = nn.Parameter(torch.zeros(E))
        self.up = nn.Linear(E, 4 * E // TP)
        self.down = nn.Linear(4 * E // TP, E, bias=False)
        self.down_bias = nn.Parameter(torch.zeros(E))

    def forward(self, x):
        h = self.qkv(self.norms[0](ToAll.apply(x, self.group)))
        q, k, v = h.unflatten(2, (3, HEADS // TP, H)).permute(2, 0, 3, 1, 4)
        seen = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        seen = self.out(seen.transpose(1, 2).flatten(2))
        x = x + FromAll.apply(seen, self.group) + self.out_bias
        h = functional.gelu(self.up(self.norms[1](ToAll.apply(x, self.group))))
        return x + FromAll.apply(self.down(h), self.group) + self.down_bias


class Stage(nn.Module):
    def __init__(self, p, t, group, start):
        super().__init__()
        self.layers = nn.ModuleList(Layer(group) for _ in range(PER))
        if p == 0:
            self.token = nn.Parameter(start["first[0].token"])
            self.position = nn.Parameter(start["first[0].position"])
        if p == PP - 1:
            self.norm = nn.LayerNorm(E)
            self.head = nn.Parameter(start["head[0].w"])
        self.is_first, self.is_last = p == 0, p == PP - 1
        for number, layer in enumerate(self.layers):
            of = {name: start[f"layer[0, {p}, {number}, {t}].{name}"]
                  for name in ("qkv", "out", "up", "down")}
            for name, weight in of.items():
                getattr(layer, name).weight.data = weight.T.contiguous()
            for linear in (layer.qkv, layer.up):
                nn.init.zeros_(linear.bias)

    def forward(self, x):
        if self.is_first:
            x = self.token[x] + self.position
        for layer in self.layers:
            x = layer(x)
        return self.norm(x) @ self.head if self.is_last else x


def loss_of(logits, labels):
    return functional.cross_entropy(logits.flatten(0, 1), labels.flatten())


def steps_by_hand(stage, tokens, labels):
    """A step without a pipeline: one micro-batch after the other."""
    losses = [loss_of(stage(x), y) for x, y in zip(tokens, labels)]
    (torch.stack(losses).mean()).backward()
    return torch.stack(losses).detach().mean()


def main():
    start, tokens, labels = sys.argv[1:4]
    if "RANK" not in os.environ:
        os.environ.update(RANK="0", WORLD_SIZE="1", MASTER_ADDR="127.0.0.1", MASTER_PORT="29571")
    torch.set_num_threads(1)
    mesh = init_device_mesh("cpu", (DP, PP, TP), mesh_dim_names=("d", "p", "t"))
    d, p, t = mesh.get_coordinate()
    stage = Stage(p, t, mesh["t"].get_group(), safetensors.torch.load_file(start))
    kinds = [[each for each in stage.parameters() if (each.dim() > 1) == matrix]
             for matrix in (True, False)]  # biases and gains do not decay
    optimizer = torch.optim.AdamW([{"params": kinds[0], "weight_decay": 0.01},
                                   {"params": kinds[1], "weight_decay": 0.0}], lr=RATE)
    tokens, labels = (torch.from_numpy(np.load(path))[d] for path in (tokens, labels))
    schedule = None
    if PP > 1:
        pipe = PipelineStage(stage, p, PP, torch.device("cpu"), group=mesh["p"].get_group())
        schedule = Schedule1F1B(pipe, M, loss_fn=lambda h, y: loss_of(h, y) / M)
    for _ in range(int(sys.argv[4])):
        if schedule is None:
            loss = steps_by_hand(stage, tokens, labels)
        else:
            losses = []
            schedule.step(*([tokens.flatten(0, 1)] if p == 0 else []),
                          target=labels.flatten(0, 1) if p == PP - 1 else None, losses=losses)
            loss = torch.stack(losses).sum() if losses else torch.zeros(())
        for parameter in stage.parameters():
            dist.all_reduce(parameter.grad, group=mesh["d"].get_group())
            parameter.grad /= DP
        dist.all_reduce(loss, group=mesh["d"].get_group())
        optimizer.step()
        optimizer.zero_grad()
        if (d, p, t) == (0, PP - 1, 0):
            print(f"{loss.item() / DP:.7f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()

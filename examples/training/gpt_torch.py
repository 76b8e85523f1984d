"""The training of gpt.cgraph in PyTorch, on one device and by hand on several: a pipeline of PP
stages of TP devices each, DP times.

Beside gpt.cgraph is counted what a training on several devices needs: all but "one device".
"""
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.pipelining import PipelineStage, Schedule1F1B
from torch.nn import functional

DP, PP, TP = 1, 2, 2
M, B, V, LAYERS, HEADS, E, RATE = 2, 4, 128, 4, 8, 256, 0.0005
H = E // HEADS


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


def part_of(name, weight, t, parts):
    """What device t of a layer has: some of its columns, or some of its rows."""
    if name.startswith("qkv"):
        return torch.cat([each.chunk(parts, -1)[t] for each in weight.chunk(3, -1)], -1)
    if name.startswith("up"):
        return weight.chunk(parts, -1)[t]
    return weight.chunk(parts)[t] if name in ("out", "down") else weight


class Layer(nn.Module):
    def __init__(self, weights, prefix, t, parts, group):
        super().__init__()
        self.group, self.heads = group, HEADS // parts
        for name in ("gain1", "bias1", "gain2", "bias2", "qkv", "qkv_bias", "out", "out_bias",
                     "up", "up_bias", "down", "down_bias"):
            setattr(self, name, nn.Parameter(part_of(name, weights[prefix + name], t, parts)))

    def divided(self, x):
        return x if self.group is None else ToAll.apply(x, self.group)

    def summed(self, x):
        return x if self.group is None else FromAll.apply(x, self.group)

    def forward(self, x):
        h = self.divided(functional.layer_norm(x, (E,), self.gain1, self.bias1))
        h = (h @ self.qkv + self.qkv_bias).unflatten(2, (3, self.heads, H))
        q, k, v = h.permute(2, 0, 3, 1, 4)
        seen = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.summed(seen.transpose(1, 2).flatten(2) @ self.out) + self.out_bias
        h = self.divided(functional.layer_norm(x, (E,), self.gain2, self.bias2))
        h = functional.gelu(h @ self.up + self.up_bias)
        return x + self.summed(h @ self.down) + self.down_bias


class Stage(nn.Module):
    def __init__(self, weights, p=0, t=0, stages=1, parts=1, group=None):
        super().__init__()
        per = LAYERS // stages
        self.layers = nn.ModuleList(Layer(weights, f"layer[0, 0, {p * per + each}, 0].", t, parts,
                                          group) for each in range(per))
        if p == 0:
            self.token = nn.Parameter(weights["first[0].token"])
            self.position = nn.Parameter(weights["first[0].position"])
        if p == stages - 1:
            self.gain = nn.Parameter(weights["head[0].gain"])
            self.bias = nn.Parameter(weights["head[0].bias"])
            self.w = nn.Parameter(weights["head[0].w"])
        self.is_first, self.is_last = p == 0, p == stages - 1

    def forward(self, x):
        if self.is_first:
            x = self.token[x] + self.position
        for layer in self.layers:
            x = layer(x)
        return functional.layer_norm(x, (E,), self.gain, self.bias) @ self.w if self.is_last else x


def optimizer_of(stage):
    """Biases and gains do not decay."""
    kinds = [[each for each in stage.parameters() if (each.dim() > 1) == matrix]
             for matrix in (True, False)]
    return torch.optim.AdamW([{"params": kinds[0], "weight_decay": 0.01},
                              {"params": kinds[1], "weight_decay": 0.0}], lr=RATE)


def loss_of(logits, labels):
    return functional.cross_entropy(logits.flatten(0, 1), labels.flatten())


# ---- one device ----------------------------------------------------------------------------------
def train(weights, tokens, labels, steps):
    """The loss of each step. `weights` are those of a saved state, by their names."""
    stage = Stage(weights)
    optimizer = optimizer_of(stage)
    for x, y in zip(tokens.split(M * B)[:steps], labels.split(M * B)):
        optimizer.zero_grad()
        losses = torch.stack([loss_of(stage(a), b) for a, b in zip(x.split(B), y.split(B))])
        losses.mean().backward()
        optimizer.step()
        yield losses.mean().item()


# ---- several devices -----------------------------------------------------------------------------
def train_divided(weights, tokens, labels, steps, **group_of_all):
    dist.init_process_group(**group_of_all)
    mesh = init_device_mesh("cpu", (DP, PP, TP), mesh_dim_names=("d", "p", "t"))
    d, p, t = mesh.get_coordinate()
    stage = Stage(weights, p, t, PP, TP, mesh["t"].get_group())
    optimizer = optimizer_of(stage)
    pipe = PipelineStage(stage, p, PP, torch.device("cpu"), group=mesh["p"].get_group())
    schedule = Schedule1F1B(pipe, M, loss_fn=lambda h, y: loss_of(h, y) / (DP * M),
                            scale_grads=False)
    for x, y in zip(tokens.split(DP * M * B)[:steps], labels.split(DP * M * B)):
        x, y = x.chunk(DP)[d], y.chunk(DP)[d]
        losses = []
        optimizer.zero_grad()
        schedule.step(*([x] if p == 0 else []), target=y if p == PP - 1 else None, losses=losses)
        for each in stage.parameters():
            dist.all_reduce(each.grad, group=mesh["d"].get_group())
        optimizer.step()
        loss = torch.stack(losses).sum().detach() if losses else torch.zeros(())
        dist.all_reduce(loss)
        yield loss.item() / TP
    dist.destroy_process_group()

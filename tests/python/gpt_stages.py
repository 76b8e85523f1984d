"""A GPT in two stages, as modules of PyTorch's, with their optimizers. Their methods are called by
torch_pipeline_test.py: `forward` and `loss` by autograd, or what keeps the history itself."""
import torch
from torch import nn
from torch.nn import functional

torch.set_num_threads(1)
VOCABULARY, TOKENS, WIDTH, HEADS = 64, 16, 64, 4


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(2))
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)
        self.feed = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(),
                                  nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x):
        heads = self.qkv(self.norms[0](x)).unflatten(2, (3, HEADS, WIDTH // HEADS))
        q, k, v = heads.permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).flatten(2))
        return x + self.feed(self.norms[1](x))


class Stage(nn.Module):
    def __init__(self, seed):
        super().__init__()
        torch.manual_seed(seed)
        self.blocks = nn.Sequential(Block(), Block())
        self.kept = {}

    def ready(self):
        self.optimizer = torch.optim.AdamW(self.parameters(), lr=1e-3)

    def update(self):
        self.optimizer.step()
        self.optimizer.zero_grad()


class First(Stage):
    def __init__(self, seed):
        super().__init__(seed)
        self.table = nn.Embedding(VOCABULARY, WIDTH)
        self.places = nn.Embedding(TOKENS, WIDTH)
        self.ready()

    def forward(self, tokens):
        return self.blocks(self.table(tokens) + self.places.weight)

    def keep(self, tokens, mb):
        self.kept[mb] = self(torch.from_dlpack(tokens).clone())
        return self.kept[mb].detach()

    def back(self, g, mb):
        self.kept.pop(mb).backward(torch.from_dlpack(g))


class Last(Stage):
    def __init__(self, seed):
        super().__init__(seed)
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, VOCABULARY)
        self.ready()

    def loss(self, h, labels):
        return functional.cross_entropy(self.head(self.norm(self.blocks(h))).flatten(0, 1),
                                        labels.flatten())

    def learn(self, h, labels):
        h = torch.from_dlpack(h).clone().requires_grad_()
        loss = self.loss(h, torch.from_dlpack(labels))
        loss.backward()
        return loss.detach(), h.grad

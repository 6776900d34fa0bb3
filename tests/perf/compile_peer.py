#!/usr/bin/env python3
"""PyTorch's side of //tests/perf:compile: training steps, timed on demand.

    with_pytorch.py compile_peer.py NET THREADS STEPS

Reads lines "eager" and "compile" and answers each with the seconds of a step,
by the clock and of the processor: "0.0713 0.1402". The steps are those of
compile.cc, of the same nets: forward, cross-entropy, backward, SGD with
momentum as torch.optim has it, an average of the weights. `compile` is
torch.compile(net) with its defaults, which the first such line waits for.

"check" is answered with loss and norm of all gradients, of weights and images
that nets_test.cc has too: the nets are the same. Their parameters have the same
order for that.
"""
import math
import os
import sys
import time

# What the stand-ins for CUDA's libraries lack is never called.
sys.setdlopenflags(os.RTLD_LAZY)
# A pool of processes would not know that.
os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"
import torch  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

CLASSES = 100


def conv(inside, out, kernel, stride=1):
    return nn.Conv2d(inside, out, kernel, stride, kernel // 2, bias=False)


class Block(nn.Module):
    def __init__(self, inside, out, stride):
        super().__init__()
        self.conv1 = conv(inside, out, 3, stride)
        self.bn1 = nn.BatchNorm2d(out)
        self.conv2 = conv(out, out, 3)
        self.bn2 = nn.BatchNorm2d(out)
        self.shortcut = nn.Sequential()
        if stride != 1 or inside != out:
            self.shortcut = nn.Sequential(conv(inside, out, 1, stride),
                                          nn.BatchNorm2d(out))

    def forward(self, x):
        out = torch.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        return torch.relu(out + self.shortcut(x))


class ResNet18(nn.Module):
    images = (8, 3, 64, 64)

    def __init__(self):
        super().__init__()
        self.conv1 = conv(3, 64, 7, 2)
        self.bn1 = nn.BatchNorm2d(64)
        blocks, width = [], 64
        for out, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
            blocks += [Block(width, out, stride), Block(out, out, 1)]
            width = out
        self.blocks = nn.Sequential(*blocks)
        self.linear = nn.Linear(512, CLASSES)

    def forward(self, x):
        x = F.max_pool2d(torch.relu(self.bn1(self.conv1(x))), 3, 2, 1)
        x = F.adaptive_avg_pool2d(self.blocks(x), 1)
        return self.linear(x.flatten(1))


class ViTBlock(nn.Module):
    width, heads = 192, 3

    def __init__(self):
        super().__init__()
        width = self.width
        self.norm1 = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)
        self.norm2 = nn.LayerNorm(width)
        self.wide = nn.Linear(width, 4 * width)
        self.narrow = nn.Linear(4 * width, width)

    def forward(self, x):
        qkv = self.qkv(self.norm1(x)).unflatten(2, (3, self.heads, -1))
        query, key, value = qkv.permute(2, 0, 3, 1, 4).unbind(0)
        heads = F.scaled_dot_product_attention(query, key, value)
        x = x + self.proj(heads.transpose(1, 2).flatten(2))
        return x + self.narrow(F.gelu(self.wide(self.norm2(x))))


class TinyViT(nn.Module):
    images = (8, 3, 64, 64)

    def __init__(self):
        super().__init__()
        self.patches = nn.Conv2d(3, ViTBlock.width, 16, 16)
        self.head = nn.Linear(ViTBlock.width, CLASSES)
        self.blocks = nn.Sequential(*(ViTBlock() for _ in range(12)))

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        return self.head(self.blocks(x).mean(1))


class PointwiseBlock(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv = nn.Conv2d(width, width, 3, padding=1, groups=width)
        self.norm = nn.BatchNorm2d(width)

    def forward(self, x):
        y = self.norm(self.conv(x))
        y = y * torch.sigmoid(y)
        y = F.gelu(y) * torch.tanh(y * 0.5 + 0.1)
        return x + F.hardswish(y) * torch.sigmoid(x * 0.7)


class Pointwise(nn.Module):
    images = (16, 3, 192, 192)

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 32, 4, 4)
        self.head = nn.Linear(32, CLASSES)
        self.blocks = nn.Sequential(*(PointwiseBlock(32) for _ in range(6)))

    def forward(self, x):
        return self.head(self.blocks(self.stem(x)).mean((2, 3)))


NETS = {"resnet18": ResNet18, "vit_tiny": TinyViT, "pointwise": Pointwise}


class Training:
    """A net with all that its step needs."""

    def __init__(self, net, compiled):
        self.net = net()
        self.forward = torch.compile(self.net) if compiled else self.net
        self.images = torch.randn(net.images)
        self.targets = torch.randint(CLASSES, net.images[:1])
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.001,
                                         momentum=0.9, weight_decay=1e-4)
        self.weights = [tensor for tensor in self.net.state_dict().values()
                        if tensor.is_floating_point()]
        self.averages = [tensor.clone() for tensor in self.weights]

    def step(self):
        F.cross_entropy(self.forward(self.images), self.targets).backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        with torch.no_grad():
            torch._foreach_lerp_(self.averages, self.weights, 0.001)


def waves(sizes, phase):
    values = torch.arange(math.prod(sizes), dtype=torch.float64) + phase
    return values.cos().mul(0.3).float().view(sizes)


def check(net):
    with torch.no_grad():
        for i, parameter in enumerate(net.parameters()):
            parameter.copy_(waves(parameter.shape, i))
    loss = F.cross_entropy(net(waves(net.images, 0)),
                           torch.arange(net.images[0]))
    loss.backward()
    squares = sum(parameter.grad.double().square().sum()
                  for parameter in net.parameters())
    return loss.item(), squares.sqrt().item()


def main():
    name, threads, steps = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    torch.set_num_threads(threads)
    trainings = {}
    for line in sys.stdin:
        side = line.strip()
        if side == "check":
            print(*check(NETS[name]()), flush=True)
            continue
        if side not in trainings:
            trainings[side] = Training(NETS[name], side == "compile")
            trainings[side].step()
        wall, cpu = time.monotonic(), time.process_time()
        for _ in range(steps):
            trainings[side].step()
        print((time.monotonic() - wall) / steps,
              (time.process_time() - cpu) / steps, flush=True)


if __name__ == "__main__":
    main()

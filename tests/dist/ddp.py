"""A training of several ranks by Python's DistributedDataParallel, for
python_test: each rank prints its rank, and whether the weights are those of all.
"""
import os
import sys

# The stand-ins for CUDA's libraries (with_pytorch.py) have no functions.
sys.setdlopenflags(os.RTLD_LAZY)

import torch  # noqa: E402
import torch.distributed  # noqa: E402


def main():
    torch.distributed.init_process_group("gloo")
    rank = torch.distributed.get_rank()
    torch.manual_seed(rank)
    net = torch.nn.Linear(4, 2)
    ddp = torch.nn.parallel.DistributedDataParallel(net)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        ddp(torch.randn(8, 4)).square().mean().backward()
        optimizer.step()
    weights = [torch.empty_like(net.weight) for _ in range(2)]
    torch.distributed.all_gather(weights, net.weight.detach())
    print("rank", rank, "equal", torch.equal(weights[0], weights[1]))


main()

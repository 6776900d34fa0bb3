"""Writes the graph that syncbn_test.cc computes too, as the trainer would.

    write_capture.py FOLDER
"""
import json
import os
import sys

sys.setdlopenflags(os.RTLD_LAZY)
FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, FOLDER + "/../../plugins/compile/compiler/programs")
import torch  # noqa: E402

import sync_batch_norm  # noqa: E402

CHANNELS = 6


# The tracer needs a kernel, of which only the shape matters.
@torch.library.impl(sync_batch_norm.OPERATOR, "CPU")
def kernel(x, *_):
    return torch.empty_like(x)


class Net(torch.nn.Module):

    def forward(self, w1, w2, gamma, beta, mean1, var1, mean2, var2, x):
        operator = torch.ops.slipway.sync_batch_norm
        x = torch.nn.functional.conv2d(x, w1)
        x = operator(x, gamma, beta, mean1, var1, 0.1, 1e-5, "slipway")
        x = torch.nn.functional.silu(x)
        x = torch.nn.functional.conv2d(x, w2, padding=1)
        return operator(x, None, None, mean2, var2, 0.2, 1e-3, "slipway")


def main():
    folder = sys.argv[1]
    c = CHANNELS
    sizes = [[c, 3, 1, 1], [c, c, 3, 3], [c], [c], [c], [c], [c], [c],
             [4, 3, 5, 5]]
    inputs = [torch.rand(size) for size in sizes]
    with torch.no_grad():
        traced = torch.jit.trace(Net(), tuple(inputs), check_trace=False)
    os.makedirs(folder)
    traced.save(os.path.join(folder, "graph.pt"))
    about = {"schema": 1, "parameters": 4, "buffers": 4, "state": 8,
             "differentiate": True, "dynamic": True,
             "inputs": [{"name": "input%d" % i, "size": list(tensor.shape),
                         "stride": list(tensor.stride()), "dtype": "float32",
                         "device": "cpu", "requires_grad": i < 4 or i == 8}
                        for i, tensor in enumerate(inputs)]}
    with open(os.path.join(folder, "graph.json"), "w",
              encoding="utf-8") as file:
        json.dump(about, file)


if __name__ == "__main__":
    main()

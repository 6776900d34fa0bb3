"""Writes the fixtures of tensor_file_test with PyTorch 2.15.

    python3 make_fixtures.py FOLDER
"""
import collections
import os
import sys

import torch

DTYPES = [
    "float32", "float64", "float16", "bfloat16", "int64", "int32", "int16",
    "int8", "uint8", "bool", "complex64", "complex128", "uint16", "uint32",
    "uint64", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz",
    "float8_e5m2fnuz",
]


def state_dict():
    net = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.BatchNorm2d(2))
    for tensor in net.state_dict().values():
        values = torch.arange(tensor.numel()).reshape(tensor.shape)
        tensor.copy_(values.to(tensor.dtype))
    return net.state_dict()


def nested():
    whole = torch.arange(6.0).reshape(2, 3)
    ones = torch.ones(3)
    return {
        "epoch": 3,
        "acc": 0.5,
        "dtypes": collections.OrderedDict(
            (name, ones.to(getattr(torch, name))) for name in DTYPES),
        "shared": {"whole": whole, "row": whole[1]},
        "parameter": torch.nn.Parameter(torch.ones(2)),
        "size": torch.Size([2, 3]),
    }


def main():
    folder = sys.argv[1]
    torch.save(state_dict(), os.path.join(folder, "python_state_dict.pth"))
    torch.save(nested(), os.path.join(folder, "python_nested.pth"))


if __name__ == "__main__":
    main()

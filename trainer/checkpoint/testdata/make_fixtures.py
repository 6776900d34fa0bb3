"""Writes the fixtures of this folder's tests with PyTorch 2.15, numpy and
safetensors.

    python3 make_fixtures.py FOLDER
"""
import collections
import os
import sys

import numpy
import safetensors.torch
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


def wrapped_state_dict():
    """Weights as a compiled network in DistributedDataParallel has them."""
    return collections.OrderedDict(
        ("module._orig_mod." + name, tensor)
        for name, tensor in state_dict().items())


def super_gradients():
    """The keys and kinds of values of a checkpoint of SuperGradients 3.7.1."""
    net = torch.nn.Conv2d(1, 2, 3)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    net(torch.ones(1, 1, 3, 3)).sum().backward()
    optimizer.step()
    return {
        "net": state_dict(),
        "acc": numpy.float64(0.75),
        "epoch": 3,
        "metrics": {
            "tracked_metric_name": "Accuracy",
            "valid": {"Accuracy": torch.tensor(0.75),
                      "CrossEntropyLoss": numpy.float32(0.5)},
            "train": {"CrossEntropyLoss": 0.25},
        },
        "packages": {"super-gradients": "3.7.1", "torch": "2.15.0"},
        "_best_ckpt_metrics": {
            "valid": {"Accuracy": numpy.float16(0.5)}},
        "ema_net": state_dict(),
        "optimizer_state_dict": optimizer.state_dict(),
        "scaler_state_dict": {"scale": 65536.0, "growth_factor": 2.0,
                              "_growth_tracker": 7},
        "processing_params": {"class_names": ["cat", "dog"],
                              "iou": numpy.float64(0.5),
                              "classes": numpy.int64(2)},
        "torch_scheduler_state_dict": None,
    }


def numpy_scalars():
    values = {"float16": 0.1, "float32": 0.1, "float64": 0.1, "int8": -7,
              "int16": -7, "int32": -7, "int64": -7, "uint8": 200,
              "uint16": 60000, "uint32": 4000000000, "uint64": 2**63,
              "bool": True}
    return {name: getattr(numpy, name)(value) for name, value in values.items()}


def safetensors_dict():
    tensors = {name: torch.arange(6).reshape(2, 3).to(getattr(torch, name))
               for name in DTYPES if name != "complex128"}
    tensors["scalar"] = torch.tensor(3.5)
    tensors["empty"] = torch.empty(0, 3)
    return tensors


def main():
    folder = sys.argv[1]
    torch.save(state_dict(), os.path.join(folder, "python_state_dict.pth"))
    torch.save(nested(), os.path.join(folder, "python_nested.pth"))
    torch.save({"net": wrapped_state_dict(), "ema_net": wrapped_state_dict()},
               os.path.join(folder, "prefixed.pth"))
    torch.save(super_gradients(), os.path.join(folder, "super_gradients.pth"))
    for protocol in 2, 4:
        torch.save(numpy_scalars(),
                   os.path.join(folder, "numpy_scalars_%d.pth" % protocol),
                   pickle_protocol=protocol)
    torch.save(state_dict(), os.path.join(folder, "before_1_6.pth"),
               _use_new_zipfile_serialization=False)
    safetensors.torch.save_file(
        safetensors_dict(), os.path.join(folder, "python.safetensors"),
        metadata={"format": "pt"})


if __name__ == "__main__":
    main()

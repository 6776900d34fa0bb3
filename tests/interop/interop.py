"""What PyTorch makes of files, for pytorch_test.

    interop.py rewrite IN OUT   loads IN, with weights_only, and saves it again
    interop.py scramble IN OUT  the tensors of IN, with other values
    interop.py equal A B        whether both hold the same, bit for bit
    interop.py fixtures MAKER FOLDER   runs the program MAKER

Names that end with .safetensors are in that format.
"""
import os
import runpy
import sys

# The stand-ins for CUDA's libraries (with_pytorch.py) have no functions.
sys.setdlopenflags(os.RTLD_LAZY)

import safetensors.torch  # noqa: E402
import torch  # noqa: E402


def load(path):
    if path.endswith(".safetensors"):
        return safetensors.torch.load_file(path)
    return torch.load(path, weights_only=True)


def save(value, path):
    if path.endswith(".safetensors"):
        safetensors.torch.save_file(value, path)
    else:
        torch.save(value, path)


def net(path):
    value = load(path)
    return value["net"] if "net" in value else value


def scrambled(tensor):
    """Every bit pattern may occur, as long as it stays what it is."""
    if tensor.is_floating_point():
        return torch.randn(tensor.shape, dtype=tensor.dtype)
    return torch.randint(0, 1 << 40, tensor.shape, dtype=tensor.dtype)


def differences(a, b):
    if list(a) != list(b) and set(a) != set(b):
        return ["names: %s" % sorted(set(a) ^ set(b))]
    return [name for name in a
            if a[name].dtype != b[name].dtype or not torch.equal(a[name],
                                                                 b[name])]


def main():
    command, first, second = sys.argv[1:]
    if command == "rewrite":
        save(load(first), second)
    elif command == "scramble":
        torch.manual_seed(1)
        save({k: scrambled(v) for k, v in net(first).items()}, second)
    elif command == "equal":
        found = differences(net(first), net(second))
        if found:
            sys.exit("differ: %s" % ", ".join(found))
    elif command == "fixtures":
        sys.argv = [first, second]
        runpy.run_path(first, run_name="__main__")
    else:
        sys.exit("unknown command " + command)


if __name__ == "__main__":
    main()

#!/bin/sh
# Fetches PyTorch's compiler, and tries it.
exec "${PYTHON:-python3}" plugins/compile/compiler/programs/run_compiler.py --setup

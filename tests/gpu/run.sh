#!/bin/bash
# Tests what needs GPUs, on a machine with two or more and a CUDA LibTorch of
# 2.11 to 2.15 ($LIBTORCH_DIR, else the one that is fetched).
#
#   tests/gpu/run.sh [RUN_DIR]
#
# Nothing else runs these: the machines that test all the rest have no GPU.
set -euo pipefail
cd "$(dirname "$0")/../.."
run_dir=${1:-$(mktemp -d)/run}

gpus=$(nvidia-smi --list-gpus | wc -l)
if [ "$gpus" -lt 2 ]; then
  echo "this needs two GPUs, and nvidia-smi lists $gpus" >&2
  exit 2
fi

./bazelw test --config=cuda --test_output=errors //tests/gpu:nccl_test
./bazelw run --config=cuda //launcher -- --num_processes=2 -- \
  --recipe=digits_resnet --device=cuda --run_dir="$run_dir" epochs=3 \
  batch_size=32 training_hyperparams.sync_bn=True

python3 - "$run_dir/result.json" <<'END'
import json
import sys
result = json.load(open(sys.argv[1]))
assert result["exit_reason"] == "done", result
assert result["world_size"] == 2, result
assert result["device"].startswith("cuda"), result
assert result["metrics"]["best"]["value"] > 0.9, result
print("ranks on GPUs train:", result["metrics"]["best"])
END

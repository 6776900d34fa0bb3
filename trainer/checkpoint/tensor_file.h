// A file of named values and tensors, as torch.save writes one.
//
//   TensorFileWriter writer;
//   PickleValue tree = PickleValue::Dict();
//   tree.Set("weight", writer.Add(weight));
//   absl::Status status = writer.Write(tree, path);
//
//   absl::StatusOr<TensorFile> file = TensorFile::Open(path);
//   const PickleValue* weight = file->tree().Find("weight");
//   absl::StatusOr<at::Tensor> tensor = file->Load(*weight->tensor());
#ifndef SLIPWAY_TRAINER_CHECKPOINT_TENSOR_FILE_H_
#define SLIPWAY_TRAINER_CHECKPOINT_TENSOR_FILE_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ATen/core/Tensor.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "trainer/checkpoint/atomic_file.h"
#include "trainer/checkpoint/byte_source.h"
#include "trainer/checkpoint/pickle.h"
#include "trainer/checkpoint/zip.h"

namespace slipway {

class TensorFileWriter {
 public:
  // The tree's leaf for `tensor`, whose bytes Write will store. Tensors that
  // are the whole of one storage share one record (tied weights); a view of a
  // part is copied, and so is what lies on a device.
  PickleValue Add(const at::Tensor& tensor);

  // Copies the bytes that are still the caller's, so that its tensors may
  // change before Write. Buffers (TakeBuffers) are taken out of `spare` where
  // their sizes fit.
  void Detach(std::vector<at::Tensor>& spare);

  // After Detach and the last Write: the memory, for a Detach of the same
  // tensors.
  std::vector<at::Tensor> TakeBuffers();

  // Writes atomically (see atomic_file.h).
  absl::Status Write(const PickleValue& tree, const std::string& path,
                     Replaced replaced = Replaced::kGone) const;

 private:
  struct Storage {
    at::Tensor tensor;
    bool shared = false;  // with the caller
  };

  std::vector<Storage> storages_;
  std::map<const void*, size_t> index_;  // by data pointer
};

class TensorFile {
 public:
  // DATA_LOSS for a damaged file, INVALID_ARGUMENT for what is no such file;
  // messages name the path.
  static absl::StatusOr<TensorFile> Open(const std::string& path);

  const PickleValue& tree() const { return tree_; }
  // Reads a tensor on the CPU; views of one storage share it.
  absl::StatusOr<at::Tensor> Load(const PickledTensor& tensor);
  // Lets go of what Load keeps for that: later views share with later ones.
  void Forget() { loaded_.clear(); }

 private:
  TensorFile(std::string path, std::unique_ptr<ByteSource> source,
             ZipReader zip);
  absl::Status ReadTree();
  absl::StatusOr<at::Tensor> LoadStorage(const PickledTensor& tensor);

  std::string path_;
  std::unique_ptr<ByteSource> source_;
  ZipReader zip_;
  // The folder inside the archive, such as "archive/".
  std::string prefix_;
  PickleValue tree_;
  std::map<std::string, at::Tensor> loaded_;
};

}  // namespace slipway

#endif  // SLIPWAY_TRAINER_CHECKPOINT_TENSOR_FILE_H_

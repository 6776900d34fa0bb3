#include "trainer/recipe/schema_table.h"

#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace slipway::recipe {
namespace {

constexpr KeyRule Later(std::string_view path, unsigned types,
                        std::string_view fallback = {}) {
  return {.path = path,
          .types = types,
          .use = KeyUse::kLater,
          .fallback = fallback};
}

constexpr KeyRule With(std::string_view with, KeyRule rule) {
  rule.with = with;
  return rule;
}

constexpr KeyRule Range(std::string_view path, unsigned types, double min,
                        double max = std::numeric_limits<double>::infinity()) {
  return {.path = path, .types = types, .min = min, .max = max};
}

constexpr KeyRule OneOf(std::string_view path, std::string_view choices) {
  return {.path = path, .types = kText, .choices = choices};
}

constexpr KeyRule Dead(std::string_view path) {
  return {.path = path, .use = KeyUse::kDead};
}

// clang-format off
constexpr KeyRule kTop[] = {
    {"architecture", kText},
    {"arch_params", kMap},
    Dead("arch_params.strict_load"),
    {"experiment_name", kText},
    {"ckpt_root_dir", kText},
    OneOf("device", "auto cpu cuda"),
    {"multi_gpu", kBool | kText},
    Range("num_gpus", kInt, 0),
    {"train_dataloader", kText},
    {"val_dataloader", kText},
    {"test_dataloader", kText},
    {"training_hyperparams", kSection},
    {"checkpoint_params", kSection},
    {"dataset_params", kSection},
    {"plugins", kMap},
    Dead("data_loader_num_workers"),
    Dead("load_checkpoint"),
    Dead("project_name"),
    Dead("result_path"),

    // Shortcuts. What they set in sections of this table is checked there.
    Range("batch_size", kInt, 1),
    Range("val_batch_size", kInt, 1),
    Range("num_workers", kInt, 0),
    {"lr", kAny},
    {"epochs", kAny},
    {"ema", kAny},
    {"resume", kAny},

    Later("export_params", kMap),
    Later("quantization_params", kMap),
    Later("pre_launch_callbacks_list", kList, "[]"),
    Later("calib_dataloader", kText),
    Later("student_architecture", kText),
    Later("student_arch_params", kMap),
    Later("student_checkpoint_params", kMap),
    Later("teacher_architecture", kText),
    Later("teacher_arch_params", kMap),
    Later("teacher_checkpoint_params", kMap),
    Later("run_teacher_on_eval", kBool, "false"),
    Later("rescoring_data_dir", kText),
    Later("post_prediction_callback", kMap),
};

constexpr KeyRule kDatasets[] = {
    {"dataset_params.train_dataset_params", kMap},
    {"dataset_params.val_dataset_params", kMap},
    {"dataset_params.test_dataset_params", kMap},
    {"dataset_params.train_dataloader_params", kMap},
    {"dataset_params.val_dataloader_params", kMap},
    {"dataset_params.test_dataloader_params", kMap},
    Later("dataset_params.calib_dataset_params", kMap),
    Later("dataset_params.calib_dataloader_params", kMap),

    // Variables that some of the recipes which inherit them have no use for.
    Dead("dataset_params.batch_size"),
    Dead("dataset_params.val_batch_size"),
    Dead("dataset_params.class_names"),
    Dead("dataset_params.edge_colors"),
    Dead("dataset_params.edge_links"),
    Dead("dataset_params.flip_indexes"),
    Dead("dataset_params.img_mean"),
    Dead("dataset_params.img_std"),
    Dead("dataset_params.keypoint_colors"),
    Dead("dataset_params.oks_sigmas"),
    Dead("dataset_params.train_transform_args"),
};

constexpr KeyRule kCheckpoint[] = {
    Later("checkpoint_params.load_checkpoint", kBool, "false"),
    {"checkpoint_params.load_backbone", kBool},
    {"checkpoint_params.checkpoint_path", kText},
    {"checkpoint_params.external_checkpoint_path", kText},
    Later("checkpoint_params.source_ckpt_folder_name", kText),
    {"checkpoint_params.strict_load", kBool | kText},
    {"checkpoint_params.load_ema_as_net", kBool},
    Later("checkpoint_params.pretrained_weights", kText),
    Range("checkpoint_params.checkpoint_num_classes", kInt, 1),
    Later("checkpoint_params.teacher_pretrained_weights", kText),
    Dead("checkpoint_params.load_weights_only"),
};

constexpr KeyRule kTraining[] = {
    // Slipway's own.
    OneOf("training_hyperparams.accumulate", "mean sum"),
    OneOf("training_hyperparams.non_finite", "stop skip rollback continue"),
    OneOf("training_hyperparams.compat", "none supergradients"),
    Range("training_hyperparams.log_every", kInt, 1),
    {"training_hyperparams.loss_spike", kSection},
    Range("training_hyperparams.loss_spike.deviations", kNumber, 1),
    Range("training_hyperparams.loss_spike.window", kInt, 5),
    Range("training_hyperparams.state_hash_every", kInt, 1),
    OneOf("training_hyperparams.sync_buffers", "broadcast reduce"),

    // Length.
    Range("training_hyperparams.max_epochs", kInt, 1),
    Range("training_hyperparams.batch_accumulate", kInt, 1),
    Range("training_hyperparams.max_train_batches", kInt, 1),
    Range("training_hyperparams.max_valid_batches", kInt, 1),
    Range("training_hyperparams.run_validation_freq", kInt, 1),
    Later("training_hyperparams.run_test_freq", kInt, "1"),

    // Optimization.
    {"training_hyperparams.loss", kText | kMap},
    {"training_hyperparams.criterion_params", kMap},
    {"training_hyperparams.optimizer", kText | kMap},
    {"training_hyperparams.optimizer_params", kMap},
    {"training_hyperparams.zero_weight_decay_on_bias_and_bn", kBool},
    Range("training_hyperparams.clip_grad_norm", kNumber, 0),
    Range("training_hyperparams.seed", kInt, 0),
    {"training_hyperparams.finetune", kBool},
    Later("training_hyperparams.precise_bn", kBool, "false"),
    With("training_hyperparams.precise_bn",
         Later("training_hyperparams.precise_bn_batch_size", kInt)),
    Later("training_hyperparams.enable_qat", kBool, "false"),

    // The learning rate.
    Range("training_hyperparams.initial_lr", kNumber | kMap, 0),
    {"training_hyperparams.lr_mode", kText | kMap},
    {"training_hyperparams.lr_updates", kList},
    Range("training_hyperparams.lr_decay_factor", kNumber, 0, 1),
    Range("training_hyperparams.step_lr_update_freq", kNumber, 0),
    Range("training_hyperparams.cosine_final_lr_ratio", kNumber, 0),
    Range("training_hyperparams.lr_cooldown_epochs", kInt, 0),
    Range("training_hyperparams.lr_warmup_epochs", kNumber, 0),
    Range("training_hyperparams.lr_warmup_steps", kInt, 0),
    {"training_hyperparams.warmup_mode", kText},
    Range("training_hyperparams.warmup_initial_lr", kNumber | kMap, 0),
    {"training_hyperparams.auto_lr", kBool},
    Later("training_hyperparams.lr_schedule_function", kText),
    Dead("training_hyperparams.multiply_head_lr"),
    Dead("training_hyperparams.static_assigner_end_epoch"),
    Dead("training_hyperparams.warmup_momentum"),
    Dead("training_hyperparams.warmup_bias_lr"),

    // Training plugins.
    {"training_hyperparams.ema", kBool},
    {"training_hyperparams.ema_params", kSection},
    Range("training_hyperparams.ema_params.decay", kNumber, 0, 1),
    {"training_hyperparams.ema_params.decay_type", kText},
    Range("training_hyperparams.ema_params.beta", kNumber, 0),
    {"training_hyperparams.mixed_precision", kBool},
    {"training_hyperparams.sync_bn", kBool},
    {"training_hyperparams.torch_compile", kBool},
    {"training_hyperparams.torch_compile_loss", kBool},
    {"training_hyperparams.torch_compile_mode", kText},
    {"training_hyperparams.torch_compile_options", kSection},
    {"training_hyperparams.torch_compile_options.mode", kText},
    {"training_hyperparams.torch_compile_options.fullgraph", kBool},
    {"training_hyperparams.torch_compile_options.dynamic", kBool},
    {"training_hyperparams.torch_compile_options.backend", kText},
    {"training_hyperparams.torch_compile_options.options", kMap},
    {"training_hyperparams.torch_compile_options.disable", kBool},

    // Metrics and callbacks.
    {"training_hyperparams.train_metrics_list", kList},
    {"training_hyperparams.valid_metrics_list", kList},
    {"training_hyperparams.test_metrics_list", kList},
    {"training_hyperparams.metric_to_watch", kText},
    {"training_hyperparams.greater_metric_to_watch_is_better", kBool},
    {"training_hyperparams.phase_callbacks", kList},
    Later("training_hyperparams.pre_prediction_callback", kText | kMap),

    // Checkpoints.
    {"training_hyperparams.save_model", kBool},
    {"training_hyperparams.save_ckpt_epoch_list", kList},
    {"training_hyperparams.ckpt_name", kText},
    {"training_hyperparams.ckpt_best_name", kText},
    {"training_hyperparams.average_best_models", kBool},
    {"training_hyperparams.resume", kBool},
    {"training_hyperparams.run_id", kText},
    {"training_hyperparams.resume_path", kText},
    {"training_hyperparams.resume_strict_load", kBool},
    {"training_hyperparams.resume_from_remote_sg_logger", kBool},
    {"training_hyperparams.load_opt_params", kBool},

    // Reports.
    {"training_hyperparams.silent_mode", kBool},
    Later("training_hyperparams.dataset_statistics", kBool, "false"),
    Later("training_hyperparams.launch_tensorboard", kBool, "false"),
    Later("training_hyperparams.tensorboard_port", kInt),
    Later("training_hyperparams.tb_files_user_prompt", kBool, "false"),
    Later("training_hyperparams.save_tensorboard_to_s3", kBool, "false"),
    Later("training_hyperparams.log_installed_packages", kBool, "true"),
    Later("training_hyperparams.kill_ddp_pgroup_on_end", kBool, "true"),
    {"training_hyperparams.sg_logger", kText | kMap},
    {"training_hyperparams.sg_logger_params", kSection},
    Later("training_hyperparams.sg_logger_params.launch_tensorboard", kBool, "false"),
    {"training_hyperparams.sg_logger_params.monitor_system", kBool},
    Later("training_hyperparams.sg_logger_params.project_name", kText, "''"),
    Later("training_hyperparams.sg_logger_params.save_checkpoints_remote", kBool, "false"),
    Later("training_hyperparams.sg_logger_params.save_logs_remote", kBool, "false"),
    Later("training_hyperparams.sg_logger_params.save_tensorboard_remote", kBool, "false"),
    Later("training_hyperparams.sg_logger_params.tb_files_user_prompt", kBool, "false"),
    Later("training_hyperparams.sg_logger_params.tensorboard_port", kInt),
};
// clang-format on

std::string_view SectionOf(std::string_view path) {
  const size_t dot = path.rfind('.');
  return dot == path.npos ? std::string_view() : path.substr(0, dot);
}

std::string_view NameOf(std::string_view path) {
  const size_t dot = path.rfind('.');
  return dot == path.npos ? path : path.substr(dot + 1);
}

using Index = std::map<std::string_view, const KeyRule*>;

const Index& Keys() {
  static const auto* const kKeys = [] {
    auto* keys = new Index();
    const auto add = [keys](const auto& table) {
      for (const KeyRule& rule : table) keys->emplace(rule.path, &rule);
    };
    add(kTop);
    add(kDatasets);
    add(kCheckpoint);
    add(kTraining);
    return keys;
  }();
  return *kKeys;
}

}  // namespace

const KeyRule* FindKey(std::string_view path) {
  const auto found = Keys().find(path);
  return found == Keys().end() ? nullptr : found->second;
}

std::vector<std::string> KeysIn(std::string_view section) {
  std::vector<std::string> names;
  for (const auto& [path, rule] : Keys()) {
    if (SectionOf(path) == section) names.emplace_back(NameOf(path));
  }
  return names;
}

std::vector<std::string> SectionsWith(std::string_view name) {
  std::vector<std::string> sections;
  for (const auto& [path, rule] : Keys()) {
    if (NameOf(path) == name) sections.emplace_back(SectionOf(path));
  }
  return sections;
}

}  // namespace slipway::recipe

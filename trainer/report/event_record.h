// TensorBoard's records: bytes of its protocol, written and read by hand.
//
//   file += FrameRecord(EncodeScalars(now, 12, {{"valid_accuracy", 0.75}}));
//   for (std::string_view bytes : SplitRecords(file)) {
//     std::optional<EventHead> event = DecodeEvent(bytes);
//   }
//
// An event is the message Event of tensorboard/compat/proto/event.proto in
// proto3's encoding; the few fields that are used here have these numbers:
//
//   Event      wall_time 1 (double), step 2, file_version 3, summary 5,
//              session_log 7
//   Summary    value 1: tag 1, simple_value 2 (float), tensor 8, metadata 9
//   SessionLog status 1 (START is 1)
//
// A record is TFRecord's: length (8 bytes), its masked CRC-32C, the event, the
// event's masked CRC-32C, all little-endian. Wall times are seconds since 1970.
// Pure functions, safe from any thread.
#ifndef SLIPWAY_TRAINER_REPORT_EVENT_RECORD_H_
#define SLIPWAY_TRAINER_REPORT_EVENT_RECORD_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/report/reporter.h"

namespace slipway {

// The first event of every file.
std::string EncodeFileVersion(double wall_time);
// Tells readers to forget all they have read with this step or a later one, of
// every tag.
std::string EncodeSessionStart(double wall_time, int64_t step);
// One value for each tag; values become single precision.
std::string EncodeScalars(double wall_time, int64_t step,
                          const NamedValues& scalars);
// A text (Markdown) for the tab of that name; `tag` gets the suffix
// "/text_summary", as SuperGradients' writer has it.
std::string EncodeText(double wall_time, int64_t step, std::string_view tag,
                       std::string_view text);

// What is told apart about an event.
struct EventHead {
  double wall_time = 0;
  int64_t step = 0;
  // Of its first value; empty for an event that has none.
  std::string tag;
};

// Nullopt for bytes that are no Event.
std::optional<EventHead> DecodeEvent(std::string_view bytes);

std::string FrameRecord(std::string_view event);

// The events of a file, up to the first record that is cut or damaged: where a
// run was killed while it wrote. They are views of `file`.
std::vector<std::string_view> SplitRecords(std::string_view file);

}  // namespace slipway

#endif  // SLIPWAY_TRAINER_REPORT_EVENT_RECORD_H_

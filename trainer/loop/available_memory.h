// How much memory there is for this process.
//
//   const int64_t bytes = AvailableMemory();
//
// The least of what the machine has left (MemAvailable) and what each control
// group above the process has left, versions 1 and 2; caches that the system
// gives back when asked count as left. Reads files only.
#ifndef SLIPWAY_TRAINER_LOOP_AVAILABLE_MEMORY_H_
#define SLIPWAY_TRAINER_LOOP_AVAILABLE_MEMORY_H_

#include <cstdint>
#include <string>

namespace slipway::loop {

// Bytes that can still be taken. `root` stands before /proc and /sys; tests
// pass their own. 0 if nothing tells.
int64_t AvailableMemory(const std::string& root = "");

// Bytes of this process in memory now, and the most there were since the last
// ResetPeakResident (where the system allows that; else since its start).
int64_t ResidentMemory();
int64_t PeakResidentMemory();
void ResetPeakResident();

}  // namespace slipway::loop

#endif  // SLIPWAY_TRAINER_LOOP_AVAILABLE_MEMORY_H_

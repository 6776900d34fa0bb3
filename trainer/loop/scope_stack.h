// Ends the scopes that hooks entered, last-in-first-out, when a phase ends.
//
//   {
//     ScopeStack scopes(state.scopes);
//     RETURN_IF_ERROR(hooks.Run<Hook::kBeforeForward>(context));
//     ...
//   }  // autocast and the like are undone here, after errors too
#ifndef SLIPWAY_TRAINER_LOOP_SCOPE_STACK_H_
#define SLIPWAY_TRAINER_LOOP_SCOPE_STACK_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "trainer/plugin/control.h"

namespace slipway::loop {

class ScopeStack {
 public:
  // `scopes` is borrowed; those that are in it already stay.
  explicit ScopeStack(std::vector<std::unique_ptr<Scope>>& scopes)
      : scopes_(scopes), size_(scopes.size()) {}
  ~ScopeStack() {
    while (scopes_.size() > size_) scopes_.pop_back();
  }
  ScopeStack(const ScopeStack&) = delete;
  ScopeStack& operator=(const ScopeStack&) = delete;

 private:
  std::vector<std::unique_ptr<Scope>>& scopes_;
  size_t size_;
};

}  // namespace slipway::loop

#endif  // SLIPWAY_TRAINER_LOOP_SCOPE_STACK_H_

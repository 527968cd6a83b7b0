// The loop, written once: both realities run exactly this text. What differs is the World.
//
// A World is any type with these members (see the concept below); it holds a reference to the same scheduler, because
// requests and cancels reach the scheduler through the world.
//   lock()              What keeps other threads away from the scheduler and the world's books: std::unique_lock in the
//                       real world, NoLock in the simulated one. Submits and cancels from other threads take it; they are
//                       therefore seen while a step runs, but never inside a scheduler call.
//   now()               The world's clock. Read it with the lock held: so the scheduler sees times that never go back.
//   is_done()           Leave the loop. Asked between steps only.
//   take_events()       What must not happen while a step runs: hand accepted requests to the engine, release ended
//                       ones; the simulated world also submits and cancels what is due by now.
//   start(plan)         Begin the step.
//   complete()          Wait for the step. CALLED WITHOUT THE LOCK. The simulated world moves its clock to the end of the
//                       step, submitting on the way what arrives meanwhile, as other threads do in the real one.
//   deliver(completion) Give the outputs away, note times, forget ended requests. After absorb(), so that a
//                       request that a listener submits at once finds the pages free.
//   wait_until(lock, t) Nothing to do: sleep until an event, or `t` if given, or is_done(). May return early.
#pragma once

#include <concepts>
#include <optional>

#include "base/units.h"
#include "contract/engine_port.h"
#include "contract/scheduler_port.h"
#include "contract/step_plan.h"

namespace takt::worlds {

// The lock of a world with one thread.
struct NoLock {
  void lock() {}
  void unlock() {}
};

template <class W>
concept World = requires(W world, decltype(world.lock())& lock, const contract::StepPlan& plan,
                         contract::StepCompletion& completion) {
  lock.lock();
  lock.unlock();
  world.wait_until(lock, plan.wake_at);
  { world.now() } -> std::same_as<base::Micros>;
  { world.is_done() } -> std::same_as<bool>;
  world.take_events();
  world.start(plan);
  { world.complete() } -> std::same_as<contract::StepCompletion>;
  world.deliver(completion);
};

// Runs until world.is_done(). `scheduler` is the object that the world submits to.
template <World W>
void run_loop(contract::SchedulerPort& scheduler, W& world) {
  auto lock = world.lock();
  while (!world.is_done()) {
    world.take_events();
    const contract::StepPlan plan = scheduler.next(world.now());
    if (!plan.has_work()) {
      world.wait_until(lock, plan.wake_at);
      continue;
    }
    world.start(plan);
    lock.unlock();
    contract::StepCompletion completion = world.complete();
    lock.lock();
    scheduler.absorb(completion.result, world.now());
    world.deliver(completion);
  }
}

}  // namespace takt::worlds

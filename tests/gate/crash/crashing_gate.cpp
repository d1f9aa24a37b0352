// The gate's own code, with a step before each of its stores.
#include "crashing_sync.h"
#include "gate/judge.h"
#include "gate/lifecycle.h"
#include "gate/offer.h"
#include "gate/queue.h"
#include "gate/recovery.h"
#include "gate/rules.h"
#include "gate/settle.h"
#include "gate/snapshot.h"

namespace loadline {

template class BasicGate<crash::CrashingSync>;

}  // namespace loadline

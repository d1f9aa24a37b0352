// The gate with real atomics and mutexes, compiled once. Tests that step the atomics include the
// same headers with others.
#include "loadline/gate.h"

#include "judge.h"
#include "lifecycle.h"
#include "observe.h"
#include "offer.h"
#include "order.h"
#include "queue.h"
#include "quota.h"
#include "recovery.h"
#include "returns.h"
#include "rules.h"
#include "settle.h"
#include "snapshot.h"
#include "tenants.h"

namespace loadline {

template class BasicGate<NativeSync>;

}  // namespace loadline

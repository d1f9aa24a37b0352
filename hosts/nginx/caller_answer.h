// What a client is told of a call that was not made, or that failed.
//
// A call that was refused is answered as a gate's rejection is: 503 with Retry-After, or 504 for a
// deadline, the reason in a header, and in gRPC's way where the client speaks that. A failure that
// is handed on is marked as one from further down: it was tried again here, as far as that was
// affordable, and whoever is above should not do it once more.
#pragma once

#include "calling.h"

namespace loadline::ngx {

// Before nginx makes its page of the 502 by which it knows our refusals.
void prepare_refusal(Calling& calling) noexcept;

}  // namespace loadline::ngx

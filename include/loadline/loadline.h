/* Loadline for C, and for every language that can call C: the gate for programs with threads.
 *
 * threads.h says what it does and why; this header says who owns what. In short:
 *
 *   loadline_policy* policy = loadline_policy_new();
 *   loadline_policy_set(policy, "limit", "64", NULL, 0);
 *   loadline_gate* gate = loadline_gate_open(policy, NULL, 0);
 *
 *   loadline_answer answer = LOADLINE_ANSWER_INIT;
 *   if (loadline_acquire(gate, NULL, &answer) == LOADLINE_ADMITTED) {
 *     ... the work; stop when loadline_permit_cancelled(answer.permit) ...
 *     loadline_permit_release(answer.permit, LOADLINE_SUCCESS);
 *   } else {
 *     ... answer.http_status, answer.retry_after_s, answer.reason, answer.words ...
 *   }
 *
 * HOW THIS INTERFACE CHANGES
 *
 *   1. Within one number of the library's soname (libloadline_c.so.0) nothing that is here is taken
 *      away or changes its meaning, and a program need not be built again.
 *   2. Functions, constants and policy keys are added. A program that uses a new one needs that
 *      version at least; loadline_version() tells.
 *   3. A struct grows only at its end. Its first member is its size as the program knew it: set it
 *      with the ..._INIT macro. What an older program does not know keeps the meaning of 0, and
 *      nothing is written beyond its size. Members called reserved are 0.
 *   4. Reasons are names, and new ones may appear: treat one that you do not know by its
 *      http_status.
 *   5. What is to go is marked as deprecated for one minor version, then goes with a new soname.
 *      Until 1.0 a new soname may come with any minor version.
 *
 * WHAT HOLDS FOR EVERY FUNCTION, unless it says otherwise
 *
 *   ERRORS   No C++ exception and no signal leaves a function. What cannot be done is said by the
 *            return value.
 *   THREADS  Any thread may call it, at any time, together with any other call. But whoever frees
 *            something must be the last to use it, and one policy is used by one thread at a time.
 *   STRINGS  What comes in is NUL-terminated and copied before the function returns. What goes out
 *            is static: it is never freed and never changes.
 *   BUFFERS  `error`, with room for `error_size` bytes, gets a NUL-terminated sentence for people,
 *            cut to fit, when something is refused. It may be null, or the size 0: then nothing is
 *            written. 256 bytes are enough.
 *   FORK     A gate does not survive fork(): open it afterwards.
 */
#ifndef LOADLINE_LOADLINE_H_
#define LOADLINE_LOADLINE_H_

#include <stddef.h>
#include <stdint.h>

/* NOLINTBEGIN(modernize-use-using, readability-identifier-naming): this is C */

#ifdef __cplusplus
extern "C" {
#endif

#define LOADLINE_API __attribute__((visibility("default")))

/* ---- Version ----------------------------------------------------------------------------------
 */

/* The library's version: major * 10000 + minor * 100 + patch. */
LOADLINE_API uint32_t loadline_version(void);
/* The same in words, as "0.1.0". OWNERSHIP: static. */
LOADLINE_API const char* loadline_version_string(void);

/* ---- Policy -----------------------------------------------------------------------------------
 */

/* What a gate is told to do. OWNERSHIP: the caller's, from _new to _free; a gate keeps a copy.
 * THREADS: one at a time. */
typedef struct loadline_policy loadline_policy;

/* A policy with every default; only the limit has none. Null if there is no memory. */
LOADLINE_API loadline_policy* loadline_policy_new(void);

/* Sets one key. Returns 1, or 0 with a sentence in `error` if there is no such key or the value is
 * not allowed; the policy then is as it was. Null for policy, key or value: 0.
 *
 *   limit          1 to 1000000: units of work in flight; or auto: it is found. Required.
 *   limit_from     1 to 1000000: with auto, after it: where it begins. Default: where it likes.
 *   limit_least, limit_most
 *                  1 to 1000000: with auto, what may be chosen from. Default: all.
 *   signal         NAME:VALUE, as db_latency:50ms, with a share, a time or a number: with auto,
 *                  appends a signal from outside and what is right of it at most; up to 4. It is
 *                  reported with loadline_gate_report, but cpu_pressure and cpu_throttled are read
 *                  from the kernel. Default none.
 *   queue          auto, off, or 1 to 60000: how many may wait. Default auto.
 *   wait           1ms to 1h: the longest a request waits. Default 100ms.
 *   discipline     adaptive, fifo or lifo: who starts next of a class. Default adaptive: first
 * come, first served while the queue keeps emptying, the newest first once it stands. class NAME,
 * NAME:SHARE% or NAME:SHARE%:GUARANTEE%: appends a class, the most important first; up to 8. It may
 * fill so much of the limit, and gets at least so much of the starts. Without any: critical_plus,
 * critical, sheddable_plus, sheddable. default_class  NAME: of a request that says nothing. Default
 * critical, else the first. heavy_share    1% to 100%: what requests of a cost above 1 may hold
 * together. Default 50%. tenants        off, or 1 to 100000: fair shares, for so many names told
 * apart. Default off. group          NAME or NAME:COUNT: appends a group of tenants that together
 * count as one, or as COUNT, up to 1000; up to 8 groups. quota          off, REQUESTS/TIME or
 * REQUESTS/TIME:BURST, as 100/1s:20: how often a key may ask. Default off. quota_keys     1 to
 * 1000000: how many keys are told apart. Default 10000. exempt         0 to 1000: how many exempt
 * requests run beside the limit, for each of the gate's lanes, of which there are 8 to 64.
 * Default 16. retry_after    MIN-MAX seconds, 1 to 3600: where return times are taken from. Default
 * 1-32. lease          100ms to 24h, or off: a permit held longer is taken back. Default off.
 *
 * Times have a unit: ms, s, m or h. */
LOADLINE_API int loadline_policy_set(loadline_policy* policy, const char* key, const char* value,
                                     char* error, size_t error_size);

/* Calls `expired` when a lease has run out: with the name that was given when it was acquired (""
 * if none), the class index, and how long it has been held. Replaces the one before; null: none.
 * OWNERSHIP: `user` is handed on untouched; it must stay until the gate is freed. `name` is the
 * caller's only during the call. THREADS: called by the gate's background thread; it must not
 * block, and must not free the gate. */
typedef void (*loadline_expired_callback)(const char* name, uint32_t importance, int64_t held_ns,
                                          void* user);
LOADLINE_API void loadline_policy_on_expired_lease(loadline_policy* policy,
                                                   loadline_expired_callback expired, void* user);

/* Frees it. LIFETIME: gates that were opened with it go on. Null: nothing. */
LOADLINE_API void loadline_policy_free(loadline_policy* policy);

/* ---- Gate -------------------------------------------------------------------------------------
 */

/* A gate with its background thread. OWNERSHIP: the caller's, from _open to _free. */
typedef struct loadline_gate loadline_gate;

/* Opens a gate. Null, with a sentence in `error`, if the policy is not sound or is null, or memory
 * or a thread could not be had. LIFETIME: the policy may be freed or used again afterwards. */
LOADLINE_API loadline_gate* loadline_gate_open(const loadline_policy* policy, char* error,
                                               size_t error_size);

/* From now on everybody is refused as "draining", and so is everyone who waits: blocked threads
 * return, callbacks are called. Permits stay good. May be called again. Null: nothing. */
LOADLINE_API void loadline_gate_close(loadline_gate* gate);

/* Closes and frees it, once all callbacks have returned. THREADS: nobody else may be inside a call
 * with this gate, and no callback may call it. LIFETIME: permits and callers may be used and freed
 * afterwards. Null: nothing. */
LOADLINE_API void loadline_gate_free(loadline_gate* gate);

/* Index of the class so named, or -1 (also for null). The indices stay as they are. */
LOADLINE_API int loadline_gate_class(const loadline_gate* gate, const char* name);
/* The same for groups. */
LOADLINE_API int loadline_gate_group(const loadline_gate* gate, const char* name);

/* Changes the limit under load: 1 to 1000000. 1 if it was done, else 0 (also for null). What runs
 * is not revoked. */
LOADLINE_API int loadline_gate_set_limit(loadline_gate* gate, uint32_t limit);

/* A signal from outside has this value, as in ("db_latency", 0.012): see the key `signal`. While it
 * is above what is right at most, the limit does not rise, and falls step by step. Once a second is
 * often enough; what is 5 s old says nothing. 1 if it was heard; 0 if the gate has no such signal
 * or no law, for a value below 0, infinite or not a number, and for null. Waits for nobody. */
LOADLINE_API int loadline_gate_report(loadline_gate* gate, const char* signal, double value);

/* LOADLINE_ON decides; LOADLINE_OBSERVE decides and counts, but admits all; LOADLINE_OFF admits
 * all. 1 if it was done, else 0 (also for null). */
enum { LOADLINE_ON = 0, LOADLINE_OBSERVE = 1, LOADLINE_OFF = 2 };
LOADLINE_API int loadline_gate_set_mode(loadline_gate* gate, int mode);

/* While draining (not 0), whoever asks is refused; who waits already still starts. Null: nothing.
 */
LOADLINE_API void loadline_gate_set_draining(loadline_gate* gate, int draining);

/* ---- Caller -----------------------------------------------------------------------------------
 */

/* Somebody who waits for an answer and may leave: one a request, or one a connection. The way to
 * cancel what waits, and to stop what runs. OWNERSHIP: the program's, from _new to _free. LIFETIME:
 * requests and permits keep what they need of it, so it may be freed at any time; freeing does not
 * mean leaving. */
typedef struct loadline_caller loadline_caller;

/* Null if there is no memory. */
LOADLINE_API loadline_caller* loadline_caller_new(void);
/* It has left, for good: what waits for it is cancelled, and its permits say so. THREADS: also from
 * a thread that watches the connection; callbacks come from the background thread. Null: nothing.
 */
LOADLINE_API void loadline_caller_left(loadline_caller* caller);
/* Null: nothing. */
LOADLINE_API void loadline_caller_free(loadline_caller* caller);

/* ---- Asking -----------------------------------------------------------------------------------
 */

/* What is asked. OWNERSHIP: the caller's; read during the call only. */
typedef struct loadline_request {
  uint32_t size;           /* sizeof(loadline_request) */
  uint32_t cost;           /* units of work; 0 counts as 1 */
  int32_t importance;      /* class index; -1: the default class; too large: the least important */
  uint32_t no_wait;        /* not 0: a permit at once, or a rejection */
  int64_t patience_ns;     /* nanoseconds until its answer is worthless; INT64_MAX: no deadline */
  const char* name;        /* for the report of a lease that ran out; null: none; 31 bytes count */
  loadline_caller* caller; /* null: one who does not leave */
  const char* tenant;      /* whose share it takes; null or "": nobody's */
  const char* quota;       /* the key that its quota counts; null or "": no quota */
  int32_t group;           /* of the tenant; -1, or one that is not there: none */
  uint32_t exempt;         /* not 0: beside the limit, as a health probe or an administrator */
} loadline_request;
#define LOADLINE_REQUEST_INIT \
  { sizeof(loadline_request), 1, -1, 0, INT64_MAX, NULL, NULL, NULL, NULL, -1, 0 }

/* Leave to do the work. OWNERSHIP: of whoever got it, until it is released; it is a slot of the
 * gate and a piece of memory, so release each exactly once. THREADS: any, one at a time; but
 * _cancelled and _remaining_ns may be called by several while none releases it. LIFETIME: also
 * after the gate was freed. */
typedef struct loadline_permit loadline_permit;

/* How it was answered. */
enum { LOADLINE_REJECTED = 0, LOADLINE_ADMITTED = 1, LOADLINE_CANCELLED = 2 };

/* The answer. OWNERSHIP: the caller's, who sets `size`; the permit in it, too. */
typedef struct loadline_answer {
  uint32_t size;           /* sizeof(loadline_answer) */
  int32_t kind;            /* LOADLINE_REJECTED, _ADMITTED, or _CANCELLED: the caller has left */
  loadline_permit* permit; /* if admitted, else null */
  const char* reason;      /* stable name, as "queue_full"; "none" unless rejected */
  const char* words;       /* a sentence for the body of an answer or a log */
  uint32_t http_status;    /* 503, 504 or 429 if rejected, else 0 */
  uint32_t retry_after_s;  /* seconds; 0: coming back does not help */
} loadline_answer;
#define LOADLINE_ANSWER_INIT \
  { sizeof(loadline_answer), LOADLINE_REJECTED, NULL, NULL, NULL, 0, 0 }

/* A permit or a rejection, at once. Returns answer->kind. `request` null: LOADLINE_REQUEST_INIT.
 * `gate` or `answer` null, or a size that is not set: LOADLINE_REJECTED, and nothing is written. If
 * there is no memory for the permit, it is refused as "busy". */
LOADLINE_API int loadline_try_acquire(loadline_gate* gate, const loadline_request* request,
                                      loadline_answer* answer);

/* The same, but blocks until it may start or is refused: at most the wait budget. */
LOADLINE_API int loadline_acquire(loadline_gate* gate, const loadline_request* request,
                                  loadline_answer* answer);

/* Gets the answer, exactly once. OWNERSHIP: the permit in it is the receiver's, the answer itself
 * is gone when it returns; `user` is handed on untouched. THREADS: called with no lock held: by the
 * thread that asks, before loadline_async_acquire returns, if the answer is known at once; else by
 * the gate's background thread, which it must not block. It may call anything but
 * loadline_gate_free. */
typedef void (*loadline_callback)(const loadline_answer* answer, void* user);

/* Asks, and calls back. 1: `callback` has been called or will be. 0: it never is, since gate or
 * callback is null, or there is no memory. To cancel it, give the request a caller, and say that it
 * has left: its place is free at once, and `callback` gets LOADLINE_CANCELLED, from the background
 * thread, unless it was decided before. */
LOADLINE_API int loadline_async_acquire(loadline_gate* gate, const loadline_request* request,
                                        loadline_callback callback, void* user);

/* ---- Permit -----------------------------------------------------------------------------------
 */

/* How the work ended. Only a success, late or not, tells the gate how long the work takes. */
enum { LOADLINE_SUCCESS = 0, LOADLINE_FAILURE = 1, LOADLINE_IGNORED = 2, LOADLINE_LATE = 3 };

/* Gives the slot back and frees the permit. LOADLINE_LATE: done, or given up, when its caller had
 * ceased to wait; a success after the deadline, or after the caller has left, counts as that by
 * itself. An outcome that is none of these: ignored. Null: nothing. */
LOADLINE_API void loadline_permit_release(loadline_permit* permit, int outcome);

/* 1 if the work is for nobody: the caller has left, the deadline has passed, or the lease has run
 * out. Null: 1. */
LOADLINE_API int loadline_permit_cancelled(const loadline_permit* permit);

/* Nanoseconds that are left of the deadline, to be handed on to the next service: 0 when it has
 * passed, INT64_MAX if there is none. Null: 0. */
LOADLINE_API int64_t loadline_permit_remaining_ns(const loadline_permit* permit);

/* ---- Numbers ----------------------------------------------------------------------------------
 */

/* What a gate says about itself. Counters only grow. OWNERSHIP: the caller's, who sets `size`. */
typedef struct loadline_numbers {
  uint32_t size; /* sizeof(loadline_numbers) */
  uint32_t limit;
  uint32_t in_flight;
  uint32_t waiting;
  uint64_t admitted;
  uint64_t rejected; /* for whatever reason */
  uint64_t cancelled;
  uint64_t leases_expired;
  uint64_t returned_late;  /* of these, given back since */
  int64_t service_mean_ns; /* 0: not known yet */
  uint32_t law;            /* who finds the limit: see loadline_law_name */
  uint32_t searching;      /* 1: what has been found is a guess so far */
  uint64_t limit_events;   /* steps of the law */
} loadline_numbers;
#define LOADLINE_NUMBERS_INIT \
  { sizeof(loadline_numbers), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/* 1 if it was written; 0 for null, or a size that is not set. */
LOADLINE_API int loadline_gate_numbers(const loadline_gate* gate, loadline_numbers* numbers);

/* How many of a class were rejected for a reason. `importance` -1: of all classes. 0 for null, and
 * for a class or reason that is not there. */
LOADLINE_API uint64_t loadline_gate_rejected(const loadline_gate* gate, int importance,
                                             const char* reason);

/* The reasons there are, for who wants to show them all: index 0 and up, null past the last.
 * OWNERSHIP: static. */
LOADLINE_API const char* loadline_reason_name(uint32_t index);

/* The laws there are, "fixed" first; the same way. */
LOADLINE_API const char* loadline_law_name(uint32_t index);

#ifdef __cplusplus
} /* extern "C" */
#endif

/* NOLINTEND(modernize-use-using, readability-identifier-naming) */

#endif /* LOADLINE_LOADLINE_H_ */

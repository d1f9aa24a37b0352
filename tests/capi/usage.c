/* The interface as C sees it: compiled as C11, with every warning an error. */
#include <loadline/loadline.h>
#include <stdio.h>
#include <string.h>

static int failures = 0;

static void expect(int holds, const char* what) {
  if (!holds) {
    fprintf(stderr, "not so: %s\n", what);
    ++failures;
  }
}
#define EXPECT(condition) expect((condition), #condition)

static void remember(const loadline_answer* answer, void* user) {
  *(loadline_answer*)user = *answer;
}

int main(void) {
  char error[256];
  loadline_policy* policy = loadline_policy_new();
  EXPECT(loadline_gate_open(policy, error, sizeof error) == NULL);
  EXPECT(strncmp(error, "limit: ", 7) == 0);
  EXPECT(loadline_policy_set(policy, "limit", "2", error, sizeof error) == 1);

  loadline_gate* gate = loadline_gate_open(policy, error, sizeof error);
  loadline_policy_free(policy);
  EXPECT(gate != NULL);

  loadline_answer first = LOADLINE_ANSWER_INIT;
  loadline_answer second = LOADLINE_ANSWER_INIT;
  loadline_answer third = LOADLINE_ANSWER_INIT;
  loadline_request request = LOADLINE_REQUEST_INIT;
  request.importance = loadline_gate_class(gate, "critical_plus");
  EXPECT(loadline_acquire(gate, &request, &first) == LOADLINE_ADMITTED);
  EXPECT(loadline_async_acquire(gate, NULL, remember, &second) == 1);
  EXPECT(second.kind == LOADLINE_ADMITTED);
  EXPECT(loadline_try_acquire(gate, NULL, &third) == LOADLINE_REJECTED);
  EXPECT(strcmp(third.reason, "limit") == 0);

  loadline_gate_free(gate);
  EXPECT(loadline_permit_cancelled(first.permit) == 0);
  loadline_permit_release(first.permit, LOADLINE_SUCCESS);
  loadline_permit_release(second.permit, LOADLINE_FAILURE);
  return failures != 0;
}

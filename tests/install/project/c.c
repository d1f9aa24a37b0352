#include <loadline/loadline.h>

int main(void) {
  loadline_policy* policy = loadline_policy_new();
  loadline_policy_set(policy, "limit", "1", NULL, 0);
  loadline_gate* gate = loadline_gate_open(policy, NULL, 0);
  loadline_policy_free(policy);
  loadline_answer answer = LOADLINE_ANSWER_INIT;
  const int kind = loadline_acquire(gate, NULL, &answer);
  loadline_permit_release(answer.permit, LOADLINE_SUCCESS);
  loadline_gate_free(gate);
  return kind == LOADLINE_ADMITTED ? 0 : 1;
}

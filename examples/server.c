/* A server in C: a thread a connection, and loadline_acquire() before the work.
 *
 *   server PORT        (0: any free port; it says which)
 */
#include <arpa/inet.h>
#include <loadline/loadline.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static loadline_gate* gate;

static void answer(int connection, int status, unsigned retry_after, const char* body) {
  char text[512];
  char header[64] = "";
  if (retry_after != 0) {
    snprintf(header, sizeof header, "Retry-After: %u\r\n", retry_after);
  }
  const int size = snprintf(text, sizeof text,
                            "HTTP/1.1 %d \r\n%sConnection: close\r\nContent-Length: %zu\r\n\r\n%s",
                            status, header, strlen(body), body);
  send(connection, text, (size_t)size, MSG_NOSIGNAL);
}

/* 50 ms of work, in pieces; given up when there is nobody left to do it for. */
static int work(const loadline_permit* permit) {
  const struct timespec piece = {.tv_nsec = 5 * 1000 * 1000};
  for (int i = 0; i < 10 && !loadline_permit_cancelled(permit); ++i) {
    nanosleep(&piece, NULL);
  }
  return !loadline_permit_cancelled(permit);
}

static void serve(int connection) {
  char text[4096];
  size_t size = 0;
  do {
    const ssize_t more = recv(connection, text + size, sizeof text - 1 - size, 0);
    if (more <= 0) {
      return;
    }
    size += (size_t)more;
    text[size] = '\0';
  } while (strstr(text, "\r\n\r\n") == NULL);

  loadline_request request = LOADLINE_REQUEST_INIT;
  const char* deadline = strstr(text, "\r\nX-Deadline-Ms: ");
  if (deadline != NULL) {
    request.patience_ns = strtol(deadline + 17, NULL, 10) * 1000 * 1000;
  }
  loadline_answer got = LOADLINE_ANSWER_INIT;
  if (loadline_acquire(gate, &request, &got) != LOADLINE_ADMITTED) {
    answer(connection, (int)got.http_status, got.retry_after_s, got.words);
    return;
  }
  const int done = work(got.permit);
  loadline_permit_release(got.permit, done ? LOADLINE_SUCCESS : LOADLINE_FAILURE);
  answer(connection, done ? 200 : 504, 0, done ? "done\n" : "not in time\n");
}

static void* serve_and_close(void* argument) {
  const int connection = (int)(intptr_t)argument;
  serve(connection);
  close(connection);
  return NULL;
}

int main(int argc, char** argv) {
  char error[256];
  loadline_policy* policy = loadline_policy_new();
  if (!loadline_policy_set(policy, "limit", "2", error, sizeof error) ||
      !loadline_policy_set(policy, "lease", "30s", error, sizeof error) ||
      (gate = loadline_gate_open(policy, error, sizeof error)) == NULL) {
    fprintf(stderr, "%s\n", error);
    return 1;
  }
  loadline_policy_free(policy);

  struct sockaddr_in address = {.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)(argc > 1 ? atoi(argv[1]) : 0)),
                                .sin_addr = {htonl(INADDR_LOOPBACK)}};
  socklen_t size = sizeof address;
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  if (bind(listener, (struct sockaddr*)&address, size) != 0 || listen(listener, 128) != 0 ||
      getsockname(listener, (struct sockaddr*)&address, &size) != 0) {
    perror("listen");
    return 1;
  }
  printf("listening on %u\n", (unsigned)ntohs(address.sin_port));
  fflush(stdout);
  for (;;) {
    const int connection = accept(listener, NULL, NULL);
    pthread_t thread;
    if (connection >= 0 &&
        pthread_create(&thread, NULL, serve_and_close, (void*)(intptr_t)connection) == 0) {
      pthread_detach(thread);
    }
  }
}

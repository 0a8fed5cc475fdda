// What runs in the pods of the laboratory: one static program, for its image holds nothing else.
//
//   pod_app          serves HTTP/1.1 on $PORT (8080), after $START_MS, until SIGTERM; each answer
//                    is "$NAME HOSTNAME". GET /?ms=N waits first. GET /unready and /ready make
//                    /healthz answer 503 and 200. $TERM_MS passes between SIGTERM and its end, and
//                    what it is answering then is answered first
//   pod_app pause    does nothing until SIGTERM
//   pod_app get IP:PORT/PATH   prints the body, for `kubectl exec`; exit code 1 if it is no 200
//
// It writes `EVENT MILLISECONDS` lines (started, listening, sigterm, ended), in the time of day.

#define _GNU_SOURCE

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { kHeadMax = 16384, kStack = 128 * 1024, kLastAnswersMs = 10000, kLookMs = 2 };

static atomic_int ready = 1;
static atomic_int answering = 0;
static char host[256];
static const char* name = "app";

static long number_of(const char* variable, long otherwise) {
  const char* text = getenv(variable);
  return text == NULL ? otherwise : atol(text);
}

static void say(const char* event) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  printf("%s %lld\n", event, now.tv_sec * 1000LL + now.tv_nsec / 1000000);
  fflush(stdout);
}

static void wait_ms(long ms) {
  struct timespec left = {ms / 1000, ms % 1000 * 1000000};
  while (ms > 0 && nanosleep(&left, &left) != 0) {
  }
}

static int answer(int peer, const char* head) {
  int code = 200;
  char body[512];
  const char* ms = strstr(head, "ms=");
  const char* end = strchr(head, '\r');
  if (ms != NULL && ms < end) wait_ms(atol(ms + 3));
  if (strncmp(head, "GET /unready ", 13) == 0) atomic_store(&ready, 0);
  if (strncmp(head, "GET /ready ", 11) == 0) atomic_store(&ready, 1);
  if (strncmp(head, "GET /healthz ", 13) == 0 && !atomic_load(&ready)) code = 503;
  const int size = snprintf(body, sizeof body, "%s %s\n", name, host);
  char whole[1024];
  const int length =
      snprintf(whole, sizeof whole,
               "HTTP/1.1 %d %s\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n%s", code,
               code == 200 ? "OK" : "Service Unavailable", size, body);
  return send(peer, whole, (size_t)length, MSG_NOSIGNAL) == length;
}

// Bytes of a request's body that lie beyond what has been read of it.
static long body_length(const char* head) {
  const char* at = strcasestr(head, "\r\ncontent-length:");
  return at == NULL ? 0 : atol(at + 17);
}

static void* serve(void* given) {
  const int peer = (int)(long)given;
  char buffer[kHeadMax + 1];
  size_t have = 0;
  while (1) {
    const ssize_t got = read(peer, buffer + have, kHeadMax - have);
    if (got <= 0) break;
    have += (size_t)got;
    buffer[have] = 0;
    char* end;
    int alive = 1;
    while (alive && (end = strstr(buffer, "\r\n\r\n")) != NULL) {
      long rest = body_length(buffer);
      atomic_fetch_add(&answering, 1);
      alive = answer(peer, buffer);
      atomic_fetch_sub(&answering, 1);
      char* next = end + 4;
      long here = (long)(buffer + have - next);
      if (here > rest) here = rest;
      next += here;
      rest -= here;
      char waste[4096];
      while (alive && rest > 0) {
        const ssize_t more = read(peer, waste, rest < 4096 ? (size_t)rest : 4096);
        if (more <= 0) alive = 0;
        rest -= more;
      }
      have = (size_t)(buffer + have - next);
      memmove(buffer, next, have + 1);
    }
    if (!alive || have == kHeadMax) break;
  }
  close(peer);
  return NULL;
}

static int listening(void) {
  const int made = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  struct sockaddr_in at = {0};
  at.sin_family = AF_INET;
  at.sin_port = htons((unsigned short)number_of("PORT", 8080));
  at.sin_addr.s_addr = htonl(INADDR_ANY);
  if (bind(made, (struct sockaddr*)&at, sizeof at) != 0 || listen(made, 1024) != 0) {
    perror("pod_app: listen");
    exit(1);
  }
  return made;
}

static void* accepting(void* given) {
  const int listener = (int)(long)given;
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, kStack);
  pthread_attr_setdetachstate(&small, PTHREAD_CREATE_DETACHED);
  while (1) {
    const int peer = accept(listener, NULL, NULL);
    if (peer < 0) continue;
    const int on = 1;
    setsockopt(peer, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    pthread_t thread;
    if (pthread_create(&thread, &small, serve, (void*)(long)peer) != 0) close(peer);
  }
  return NULL;
}

static int get(char* target) {
  char* path = strchr(target, '/');
  char* colon = strchr(target, ':');
  if (path == NULL || colon == NULL || colon > path) return 2;
  *colon = 0;
  struct sockaddr_in at = {0};
  at.sin_family = AF_INET;
  at.sin_port = htons((unsigned short)atoi(colon + 1));
  const int made = socket(AF_INET, SOCK_STREAM, 0);
  struct timeval patience = {5, 0};
  setsockopt(made, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  setsockopt(made, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  if (inet_pton(AF_INET, target, &at.sin_addr) != 1 ||
      connect(made, (struct sockaddr*)&at, sizeof at) != 0) {
    perror("pod_app: connect");
    return 1;
  }
  char text[kHeadMax + 1];
  int size = snprintf(text, sizeof text,
                      "GET %s HTTP/1.0\r\nHost: pod\r\nConnection: close\r\n\r\n", path);
  // Not shut down: a server may take that for the client's leave.
  if (send(made, text, (size_t)size, MSG_NOSIGNAL) != size) return 1;
  size_t have = 0;
  char* body = NULL;
  size_t whole = kHeadMax;
  while (have < whole) {
    const ssize_t got = read(made, text + have, whole - have);
    if (got <= 0) break;
    have += (size_t)got;
    text[have] = 0;
    if (body == NULL && (body = strstr(text, "\r\n\r\n")) != NULL &&
        strcasestr(text, "\r\ncontent-length:")) {
      whole = (size_t)(body + 4 - text) + (size_t)body_length(text);
      if (whole > kHeadMax) return 1;
    }
  }
  if (body != NULL) fwrite(body + 4, 1, (size_t)(text + have - body - 4), stdout);
  return body != NULL && strncmp(text + 8, " 200", 4) == 0 ? 0 : 1;
}

int main(int count, char** words) {
  if (count == 3 && strcmp(words[1], "get") == 0) return get(words[2]);
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
  sigprocmask(SIG_BLOCK, &ends, NULL);
  int number;
  if (count == 2 && strcmp(words[1], "pause") == 0) {
    sigwait(&ends, &number);
    return 0;
  }
  if (getenv("NAME") != NULL) name = getenv("NAME");
  gethostname(host, sizeof host - 1);
  say("started");
  const long start = number_of("START_MS", 0);
  const struct timespec until = {start / 1000, start % 1000 * 1000000};
  if (start > 0 && sigtimedwait(&ends, NULL, &until) > 0) {
    say("sigterm");
    return 0;
  }
  const int listener = listening();
  say("listening");
  pthread_t thread;
  if (pthread_create(&thread, NULL, accepting, (void*)(long)listener) != 0) return 1;
  sigwait(&ends, &number);
  say("sigterm");
  wait_ms(number_of("TERM_MS", 0));
  for (long waited = 0; atomic_load(&answering) > 0 && waited < kLastAnswersMs; waited += kLookMs) {
    wait_ms(kLookMs);
  }
  say("ended");
  return 0;
}

/* The workload of the laboratory: one static program that plays the pause process and every kind of
 * container, so that an image needs nothing else.
 *
 *   hog pause                                  waits for SIGTERM
 *   hog spin                                   prints its loops of every half second
 *   hog grow MB [DELAY_MS [STUBBORN]]          touches memory step by step, then keeps it
 *   hog vol LIMIT STEP CYCLES WORK SEED NAP [REST]
 *                                              a job that allocates and frees, then ends
 *   hog cache FILE MB                          writes a file, whose pages stay in the page cache
 *   hog lock FILE WORK                         takes a lock over and over, prints the worst wait
 *   hog serve PORT WORK [bg]                   answers HTTP; with bg a second thread is always busy
 *   hog exit CODE                              ends at once
 *
 * MB, LIMIT and STEP are MiB, NAP, REST and DELAY_MS milliseconds, WORK rounds of arithmetic.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { kMebibyte = 1 << 20, kPage = 4096 };

static void end_well(int number) {
  (void)number;
  _exit(0);
}

static void fail(const char* what) {
  perror(what);
  exit(2);
}

static double seconds(void) {
  struct timespec at;
  clock_gettime(CLOCK_MONOTONIC, &at);
  return (double)at.tv_sec + (double)at.tv_nsec * 1e-9;
}

static void nap(long milliseconds) {
  struct timespec left = {milliseconds / 1000, milliseconds % 1000 * 1000000};
  while (nanosleep(&left, &left) != 0) {
  }
}

static void work(long rounds) {
  volatile uint64_t sink = 1;
  for (long round = 0; round < rounds; ++round) sink = sink * 6364136223846793005u + 1;
}

/* Fresh memory, every page of it written. */
static char* touched(size_t bytes) {
  char* memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) fail("mmap");
  for (size_t at = 0; at < bytes; at += kPage) memory[at] = 1;
  return memory;
}

static _Noreturn void wait_for_ever(void) {
  for (;;) pause();
}

static _Noreturn void spin(void) {
  for (;;) {
    double until = seconds() + 0.5;
    long loops = 0;
    for (; seconds() < until; ++loops) work(1000);
    printf("%ld\n", loops);
    fflush(stdout);
  }
}

static _Noreturn void grow(long megabytes, long delay, int stubborn) {
  if (stubborn) signal(SIGTERM, SIG_IGN);
  for (long count = 1; count <= megabytes; ++count) {
    touched(kMebibyte);
    if (delay > 0) nap(delay);
  }
  printf("grown %ld\n", megabytes);
  fflush(stdout);
  wait_for_ever();
}

static uint64_t drawn(uint64_t* state) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return *state;
}

/* The job of Kang and Yu: half of the limit is held all the time; over and over it allocates in steps
 * up to a random level within the other half, with a nap after each step, then frees that and rests.
 * Never above its limit: the slack is for the program itself and for what the kernel charges beside
 * the pages. It has no handler for SIGTERM, which the first process of a container then does not get.
 * It first prints when it began. */
static int vol(long limit, long step, long cycles, long rounds, uint64_t seed, long naps, long rest) {
  enum { kSlack = 2 * kMebibyte };
  signal(SIGTERM, SIG_DFL);
  struct timespec at;
  clock_gettime(CLOCK_REALTIME, &at);
  printf("begun %.6f\n", (double)at.tv_sec + (double)at.tv_nsec * 1e-9);
  fflush(stdout);
  size_t half = (size_t)limit * kMebibyte / 2, piece = (size_t)step * kMebibyte;
  uint64_t state = seed * 0x9E3779B97F4A7C15u + 1;
  for (int turn = 0; turn < 8; ++turn) drawn(&state);
  touched(half);
  for (long cycle = 0; cycle < cycles; ++cycle) {
    size_t level = drawn(&state) % (half - kSlack) / kPage * kPage + kPage;
    char* memory[64];
    size_t held = 0, count = 0;
    while (held < level && count < 64) {
      size_t bytes = level - held < piece ? level - held : piece;
      memory[count++] = touched(bytes);
      held += bytes;
      work(rounds);
      nap(naps);
    }
    while (count > 0) {
      size_t bytes = held % piece != 0 ? held % piece : piece;
      munmap(memory[--count], bytes);
      held -= bytes;
    }
    nap(rest);
  }
  return 0;
}

static _Noreturn void cache(const char* name, long megabytes) {
  static char block[kMebibyte];
  int file = open(name, O_CREAT | O_TRUNC | O_WRONLY, 0644);
  if (file < 0) fail(name);
  for (long count = 0; count < megabytes; ++count)
    if (write(file, block, sizeof block) != (ssize_t)sizeof block) fail("write");
  fsync(file);
  close(file);
  printf("written %ld\n", megabytes);
  fflush(stdout);
  wait_for_ever();
}

static _Noreturn void lock(const char* name, long rounds) {
  int file = open(name, O_CREAT | O_RDWR, 0666);
  if (file < 0) fail(name);
  for (;;) {
    double worst = 0;
    for (double until = seconds() + 0.5; seconds() < until;) {
      double began = seconds();
      if (flock(file, LOCK_EX) != 0) fail("flock");
      double waited = seconds() - began;
      if (waited > worst) worst = waited;
      work(rounds);
      flock(file, LOCK_UN);
    }
    printf("%.4f\n", worst);
    fflush(stdout);
  }
}

static _Noreturn void serve(int port, long rounds, int busy) {
  static const char kAnswer[] = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\nok\n";
  struct sockaddr_in here = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int door = socket(AF_INET, SOCK_STREAM, 0), on = 1;
  setsockopt(door, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bind(door, (struct sockaddr*)&here, sizeof here) != 0 || listen(door, 64) != 0) fail("listen");
  if (busy && fork() == 0)
    for (;;) work(1000000);
  for (;;) {
    char request[4096];
    int guest = accept(door, NULL, NULL);
    if (guest < 0) continue;
    if (read(guest, request, sizeof request) > 0) {
      work(rounds);
      if (write(guest, kAnswer, sizeof kAnswer - 1) < 0) perror("write");
    }
    close(guest);
  }
}

static long number(int count, char** words, int at, long otherwise) {
  return at < count ? strtol(words[at], NULL, 10) : otherwise;
}

int main(int count, char** words) {
  const char* verb = count > 1 ? words[1] : "";
  /* Huge pages would make the steps of an allocation as coarse as a step. */
  prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
  signal(SIGTERM, end_well);
  signal(SIGPIPE, SIG_IGN);
  if (!strcmp(verb, "pause")) wait_for_ever();
  if (!strcmp(verb, "spin")) spin();
  if (!strcmp(verb, "exit")) return (int)number(count, words, 2, 0);
  if (!strcmp(verb, "grow") && count > 2)
    grow(number(count, words, 2, 0), number(count, words, 3, 0), count > 4);
  if (!strcmp(verb, "vol") && count > 7)
    return vol(number(count, words, 2, 0), number(count, words, 3, 0), number(count, words, 4, 0),
               number(count, words, 5, 0), (uint64_t)number(count, words, 6, 0),
               number(count, words, 7, 0), number(count, words, 8, 0));
  if (!strcmp(verb, "cache") && count > 3) cache(words[2], number(count, words, 3, 0));
  if (!strcmp(verb, "lock") && count > 3) lock(words[2], number(count, words, 3, 0));
  if (!strcmp(verb, "serve") && count > 3)
    serve((int)number(count, words, 2, 0), number(count, words, 3, 0), count > 4);
  fprintf(stderr, "hog: pause, spin, grow, vol, cache, lock, serve or exit\n");
  return 2;
}

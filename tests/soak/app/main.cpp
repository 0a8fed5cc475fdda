// The application of the lost-request test:
//   soak_app PORT POD LIMIT JOURNAL LISTEN_AFTER_MS
// It listens on 127.0.0.1:PORT, speaks HTTP/1.1, HTTP/2, gRPC framing and WebSocket, answers each
// request with its own id (x-soak-id) after x-soak-ms, and writes down what began and ended.
#include "tests/soak/app/journal.h"
#include "tests/soak/app/loop.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <sys/prctl.h>

int main(int argc, char** argv) {
  if (argc != 6) {
    std::fputs("usage: soak_app PORT POD LIMIT JOURNAL LISTEN_AFTER_MS\n", stderr);
    return 2;
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // no application outlives the driver
  sluice::soak::Journal journal{argv[4], argv[2], std::atoi(argv[3])};
  if (!journal.open()) {
    std::perror(argv[4]);
    return 1;
  }
  sluice::soak::Server server{journal};
  const bool served =
      server.run(static_cast<std::uint16_t>(std::atoi(argv[1])), std::atof(argv[5]) / 1000);
  return served ? 0 : 1;
}

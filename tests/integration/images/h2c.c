/* A program that speaks HTTP/2 in clear text on $PORT, and nothing else: each request gets, after 0.3 s, what the
 * file named by its argument has. Static, so that an image needs nothing beside it. */

#include <arpa/inet.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { DATA = 0, HEADERS = 1, SETTINGS = 4, PING = 6, END_STREAM = 1, ACK = 1, END_HEADERS = 4 };

static int whole(int from, unsigned char *to, size_t size) {
  while (size > 0) {
    const ssize_t got = read(from, to, size);
    if (got <= 0) return 0;
    to += got;
    size -= (size_t)got;
  }
  return 1;
}

static void send_frame(int to, int type, int flags, const unsigned char stream[4], const void *data, size_t size) {
  unsigned char frame[9 + 4096] = {0, (unsigned char)(size >> 8), (unsigned char)size, (unsigned char)type,
                                   (unsigned char)flags};
  memcpy(frame + 5, stream, 4);
  memcpy(frame + 9, data, size);
  if (write(to, frame, 9 + size) < 0) exit(0);
}

static void serve(int client, const char *file) {
  static const unsigned char none[4] = {0};
  static const unsigned char ok[] = {0x88}; /* :status 200, by the static table */
  unsigned char head[24];
  unsigned char payload[1 << 14];
  char body[4096];
  if (!whole(client, head, 24) || memcmp(head, "PRI * HTTP/2.0", 14) != 0) return;
  send_frame(client, SETTINGS, 0, none, "", 0);
  while (whole(client, head, 9)) {
    const size_t size = (size_t)(head[0] << 16 | head[1] << 8 | head[2]);
    if (size > sizeof payload || !whole(client, payload, size)) return;
    if (head[3] == SETTINGS && !(head[4] & ACK)) send_frame(client, SETTINGS, ACK, none, "", 0);
    if (head[3] == PING && !(head[4] & ACK)) send_frame(client, PING, ACK, none, payload, size);
    if ((head[3] != HEADERS && head[3] != DATA) || !(head[4] & END_STREAM)) continue;
    usleep(300000);
    FILE *text = fopen(file, "r");
    const size_t length = text ? fread(body, 1, sizeof body, text) : 0;
    if (text) fclose(text);
    send_frame(client, HEADERS, END_HEADERS, head + 5, ok, sizeof ok);
    send_frame(client, DATA, END_STREAM, head + 5, body, length);
  }
}

int main(int count, char **words) {
  const char *port = getenv("PORT");
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((unsigned short)atoi(port ? port : "0"))};
  if (count != 2 || bind(listener, (struct sockaddr *)&address, sizeof address) != 0 || listen(listener, 64) != 0) {
    perror("h2c");
    return 1;
  }
  signal(SIGCHLD, SIG_IGN);
  signal(SIGTERM, _exit);
  printf("serving HTTP/2 on %s\n", port);
  fflush(stdout);
  for (;;) {
    const int client = accept(listener, NULL, NULL);
    if (client < 0) continue;
    if (fork() == 0) {
      serve(client, words[1]);
      _exit(0);
    }
    close(client);
  }
}

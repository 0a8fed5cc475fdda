#include "load/core/ws_reader.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sluice::loadgen {
namespace {

using Event = WsReader::Event;

constexpr std::string_view kAgreed =
    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "sec-websocket-accept:  abc=\r\n\r\n";

// What comes of `bytes`, given in pieces of `size`.
std::vector<Event> events_of(std::string_view bytes, std::size_t size, WsReader& reader) {
  std::vector<Event> events;
  while (!bytes.empty()) {
    std::string_view piece = bytes.substr(0, size);
    bytes.remove_prefix(piece.size());
    while (true) {
      const Event event = reader.take(piece);
      if (event == Event::more) break;
      events.push_back(event);
      if (event == Event::invalid) return events;
    }
  }
  return events;
}

TEST(WsReader, ReadsMessagesInPiecesOfAnySize) {
  const std::string large = std::string{"\x82\x7e\x01\x00", 4} + std::string(256, 'x');
  const std::string bytes = std::string{kAgreed} + std::string{"\x81\x02hi", 4} + large +
                            std::string{
                                "\x01\x01"
                                "a"
                                "\x80\x01"
                                "b"
                                "\x81\x00",
                                8};
  for (const std::size_t size : {std::size_t{1}, std::size_t{3}, bytes.size()}) {
    WsReader reader{"abc="};
    EXPECT_EQ(events_of(bytes, size, reader),
              (std::vector<Event>{Event::opened, Event::message, Event::message, Event::message,
                                  Event::message}))
        << size;
    EXPECT_EQ(reader.message_bytes(), 0U);
  }
}

TEST(WsReader, GivesThePayloadOfAPingBack) {
  WsReader reader{"abc="};
  std::string_view bytes = kAgreed;
  EXPECT_EQ(reader.take(bytes), Event::opened);
  bytes = std::string_view{"\x89\x02ok\x81\x01z", 7};
  EXPECT_EQ(reader.take(bytes), Event::ping);
  EXPECT_EQ(reader.payload(), "ok");
  EXPECT_EQ(reader.take(bytes), Event::message);
  EXPECT_EQ(reader.message_bytes(), 1U);
}

TEST(WsReader, RefusesAnotherAnswerToTheHandshake) {
  for (const std::string_view head :
       {"HTTP/1.1 404 Not Found\r\n\r\n", "HTTP/1.1 101 Switching Protocols\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\nSec-WebSocket-Accept: xyz=\r\n\r\n",
        "garbage\r\n\r\n"}) {
    WsReader reader{"abc="};
    EXPECT_EQ(events_of(head, head.size(), reader), std::vector<Event>{Event::invalid}) << head;
    EXPECT_FALSE(reader.problem().empty());
  }
}

TEST(WsReader, RefusesFramesThatMayNotCome) {
  for (const std::string_view frame :
       {std::string_view{"\xc1\x00", 2}, std::string_view{"\x81\x80", 2},
        std::string_view{"\x83\x00", 2}, std::string_view{"\x80\x00", 2},
        std::string_view{"\x09\x00", 2}, std::string_view{"\x89\x7e\x00\x7e", 4}}) {
    WsReader reader{"abc="};
    std::string_view head = kAgreed;
    EXPECT_EQ(reader.take(head), Event::opened);
    EXPECT_EQ(events_of(frame, frame.size(), reader), std::vector<Event>{Event::invalid});
  }
}

}  // namespace
}  // namespace sluice::loadgen

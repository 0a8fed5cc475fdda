// TLS sessions and streams over a pair of sockets, driven by hand.

#include "common/net/stream.h"
#include "tests/unit/common/net/tls_peer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

namespace sluice::net::testing {
namespace {

namespace asio = boost::asio;
const std::string kBothProtocols = std::string{"\x08http/1.1\x02h2"};

std::string pattern(std::size_t bytes) {
  std::string text(bytes, '\0');
  for (std::size_t i = 0; i < bytes; ++i) text[i] = static_cast<char>('a' + i * 31 % 26);
  return text;
}

// One server session and one client, each driven by hand.
class TlsPairTest : public ::testing::Test {
 protected:
  void SetUp() override { pair_ = make_pair_for("first"); }

  void meet(const TlsSettings& settings, const TlsOffer& offer = {}) {
    auto made = TlsContext::make(settings, pair_);
    ASSERT_TRUE(made) << made.error().text();
    context_ = std::move(*made);
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    server_fd_ = ends[0];
    server_ = context_->make_session(server_fd_);
    client_ = std::make_unique<TlsClient>(ends[1], offer);
    for (int turn = 0; turn < 20 && !done_; ++turn) {
      const bool there = client_->shake();
      const TlsStep::State state = server_->handshake();
      refused_ = state == TlsStep::State::failed;
      done_ = (there && state == TlsStep::State::done) || refused_;
    }
    ASSERT_TRUE(done_);
    client_->take();
  }

  void TearDown() override {
    server_.reset();
    if (server_fd_ >= 0) ::close(server_fd_);
  }

  TlsPair pair_;
  std::unique_ptr<TlsContext> context_;
  std::unique_ptr<TlsSession> server_;
  std::unique_ptr<TlsClient> client_;
  int server_fd_ = -1;
  bool done_ = false;
  bool refused_ = false;
};

TEST_F(TlsPairTest, UsesTheNewestVersionAndNamesNoProtocolByDefault) {
  meet({});

  EXPECT_EQ(client_->version(), "TLSv1.3");
  EXPECT_EQ(server_->protocol(), "");
  EXPECT_EQ(client_->subject(), "first");
}

TEST_F(TlsPairTest, ChoosesTheProtocolThatTheServerPrefers) {
  meet({.protocols = {"h2", "http/1.1"}}, {.protocols = kBothProtocols});

  EXPECT_EQ(server_->protocol(), "h2");
  EXPECT_EQ(client_->protocol(), "h2");
}

TEST_F(TlsPairTest, RefusesClientsThatNameOnlyOtherProtocols) {
  meet({.protocols = {"h2", "http/1.1"}}, {.protocols = "\x02h3"});

  EXPECT_TRUE(refused_);
  EXPECT_TRUE(client_->failed());
}

TEST_F(TlsPairTest, RefusesVersionsBelowTheLeast) {
  meet({}, {.max = TlsVersion::v1_2});

  EXPECT_TRUE(refused_);
}

TEST_F(TlsPairTest, UsesTheNamedSuiteOfTheOldVersionWhenAllowed) {
  const auto settings = with_cipher_suites({.min = TlsVersion::v1_2},
                                           "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256");
  ASSERT_TRUE(settings);
  meet(*settings, {.max = TlsVersion::v1_2});

  EXPECT_EQ(client_->version(), "TLSv1.2");
  EXPECT_EQ(client_->suite(), "ECDHE-ECDSA-CHACHA20-POLY1305");
}

TEST_F(TlsPairTest, RefusesClientsWithoutACommonSuite) {
  const auto settings = with_cipher_suites({.min = TlsVersion::v1_2},
                                           "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256");
  ASSERT_TRUE(settings);
  meet(*settings, {.max = TlsVersion::v1_2, .suites_1_2 = "ECDHE-ECDSA-AES128-GCM-SHA256"});

  EXPECT_TRUE(refused_);
}

TEST_F(TlsPairTest, RefusesClientsWithoutACommonCurve) {
  const auto settings = with_curves({}, "CurveP384");
  ASSERT_TRUE(settings);
  meet(*settings, {.groups = "X25519"});

  EXPECT_TRUE(refused_);
}

TEST_F(TlsPairTest, DeliversSeveralRecordsInOneRead) {
  meet({});
  client_->send("one ");
  client_->send("two");

  char bytes[64];
  const TlsStep step = server_->read(bytes, sizeof bytes);

  EXPECT_EQ(step.state, TlsStep::State::done);
  EXPECT_EQ(std::string(bytes, step.bytes), "one two");
  EXPECT_EQ(server_->read(bytes, sizeof bytes).state, TlsStep::State::want_read);
  EXPECT_FALSE(server_->may_have_more());
}

TEST_F(TlsPairTest, KeepsBytesLeftByASmallRead) {
  meet({});
  client_->send("0123456789");

  char bytes[4];
  const TlsStep step = server_->read(bytes, sizeof bytes);

  EXPECT_EQ(std::string(bytes, step.bytes), "0123");
  EXPECT_TRUE(server_->may_have_more());
}

TEST_F(TlsPairTest, DeliversBytesSentBeforeTheEnd) {
  meet({});
  client_->send("last words");
  client_->finish_sending();

  char bytes[64];
  EXPECT_EQ(server_->read(bytes, sizeof bytes).bytes, 10U);
  EXPECT_EQ(server_->read(bytes, sizeof bytes).state, TlsStep::State::ended);
}

TEST_F(TlsPairTest, WritesAfterTheClientHasFinished) {
  meet({});
  client_->finish_sending();
  char bytes[64];
  ASSERT_EQ(server_->read(bytes, sizeof bytes).state, TlsStep::State::ended);

  EXPECT_EQ(server_->write("an", "swer").bytes, 6U);
  client_->take();
  EXPECT_EQ(client_->seen(), "answer");
}

TEST_F(TlsPairTest, AWriteFailsOnceTheClientHasGoneAfterItsEnd) {
  meet({});
  client_->finish_sending();
  char bytes[64];
  ASSERT_EQ(server_->read(bytes, sizeof bytes).state, TlsStep::State::ended);
  client_.reset();

  EXPECT_EQ(server_->write("answer", {}).state, TlsStep::State::failed);
}

TEST_F(TlsPairTest, AcceptsAKeyUpdateInMidstream) {
  meet({});
  client_->renew_keys();
  client_->send("under new keys");

  char bytes[64];
  EXPECT_EQ(server_->read(bytes, sizeof bytes).bytes, 14U);
  EXPECT_EQ(server_->write("answer", {}).bytes, 6U);
  client_->take();
  EXPECT_EQ(client_->seen(), "answer");
}

// Goal: a socket that takes little stops the writer in mid-record, and no byte is lost or doubled.
// Method: a stream over a pair of sockets with the smallest buffers writes three parts of a pattern
// whenever it can, and its reader takes a little at a time.
TEST_F(TlsPairTest, WritesPiecewiseUnderBackPressure) {
  meet({});
  const int small = 1;
  ::setsockopt(server_fd_, SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
  asio::io_context io{1};
  Stream stream{Socket{io, asio::generic::stream_protocol{AF_UNIX, 0}, ::dup(server_fd_)},
                std::move(server_)};
  const std::string sent = pattern(1'000'003);
  std::string_view first = std::string_view{sent}.substr(0, 70);
  std::string_view second = std::string_view{sent}.substr(70);
  int waits = 0;
  bool broken = false;
  const auto consume = [&](std::size_t bytes) {
    const std::size_t of_first = std::min(bytes, first.size());
    first.remove_prefix(of_first);
    second.remove_prefix(bytes - of_first);
  };
  std::function<void()> wait = [&] {
    ++waits;
    const std::array<asio::const_buffer, 2> parts{asio::buffer(first.data(), first.size()),
                                                  asio::buffer(second.data(), second.size())};
    stream.async_write_some(parts, [&](const boost::system::error_code& ec, std::size_t bytes) {
      broken = static_cast<bool>(ec);
      consume(bytes);
      if (!broken && !(first.empty() && second.empty())) wait();
    });
  };
  bool would_block = false;
  const long at_once = stream.write_now(first, second, would_block);
  ASSERT_GE(at_once, 0);
  ASSERT_TRUE(would_block);
  consume(static_cast<std::size_t>(at_once));
  wait();

  for (int turn = 0; turn < 100'000 && client_->seen().size() < sent.size() && !broken; ++turn) {
    client_->take(2000);
    io.poll();
    io.restart();
  }

  EXPECT_FALSE(broken);
  EXPECT_GT(waits, 10);
  EXPECT_TRUE(client_->seen() == sent);
}

TEST_F(TlsPairTest, HandsOverDecryptedBytesWithoutTheSocketAndNeverInline) {
  meet({});
  client_->send("0123456789");
  asio::io_context io{1};
  Stream stream{Socket{io, asio::generic::stream_protocol{AF_UNIX, 0}, ::dup(server_fd_)},
                std::move(server_)};
  std::string got;
  char bytes[4];
  bool inside = false;
  bool inlined = false;
  std::function<void()> read = [&] {
    inside = true;
    stream.async_read_some(asio::buffer(bytes),
                           [&](const boost::system::error_code& ec, std::size_t size) {
                             inlined = inlined || inside;
                             got.append(bytes, size);
                             if (!ec && got.size() < 10) read();
                           });
    inside = false;
  };
  read();
  io.run_for(std::chrono::seconds{10});

  EXPECT_EQ(got, "0123456789");
  EXPECT_FALSE(inlined);
}

// A peer may wait for our side to close the connection: nothing more comes from the socket then.
TEST_F(TlsPairTest, ReportsAnEndThatCameWithTheLastBytesThoughTheSocketStaysOpen) {
  meet({});
  client_->send("last words");
  client_->finish_sending();
  asio::io_context io{1};
  Stream stream{Socket{io, asio::generic::stream_protocol{AF_UNIX, 0}, ::dup(server_fd_)},
                std::move(server_)};
  std::string got;
  boost::system::error_code seen;
  char bytes[64];
  std::function<void()> read = [&] {
    stream.async_read_some(asio::buffer(bytes),
                           [&](const boost::system::error_code& ec, std::size_t size) {
                             got.append(bytes, size);
                             seen = ec;
                             if (!ec) read();
                           });
  };
  read();
  io.run_for(std::chrono::seconds{10});

  EXPECT_EQ(got, "last words");
  EXPECT_EQ(seen, asio::error::eof);
}

TEST_F(TlsPairTest, EndsOperationsThatWaitWhenTheStreamIsClosed) {
  meet({});
  asio::io_context io{1};
  Stream stream{Socket{io, asio::generic::stream_protocol{AF_UNIX, 0}, ::dup(server_fd_)},
                std::move(server_)};
  char bytes[4];
  boost::system::error_code seen;
  stream.async_read_some(asio::buffer(bytes), [&](const boost::system::error_code& ec,
                                                  std::size_t /*size*/) { seen = ec; });
  client_->send("too late");
  stream.close();
  io.run_for(std::chrono::seconds{10});

  EXPECT_EQ(seen, asio::error::operation_aborted);
}

TEST(TlsContext, NamesTheProblemOfAPair) {
  const TlsPair first = make_pair_for("first");
  const TlsPair second = make_pair_for("second");

  EXPECT_TRUE(TlsContext::make({}, first));
  for (const TlsPair& bad :
       {TlsPair{first.certificate, second.key}, TlsPair{"", ""}, TlsPair{"junk", first.key},
        TlsPair{first.certificate, "junk"}, TlsPair{first.key, first.certificate},
        TlsPair{
            first.certificate + "-----BEGIN CERTIFICATE-----\njunk\n-----END CERTIFICATE-----\n",
            first.key}}) {
    const auto made = TlsContext::make({}, bad);
    ASSERT_FALSE(made);
    EXPECT_FALSE(made.error().what.empty());
    EXPECT_FALSE(made.error().fix.empty());
  }
}

TEST(TlsContext, TakesAChain) {
  const TlsPair first = make_pair_for("first");
  const TlsPair second = make_pair_for("second");

  EXPECT_TRUE(TlsContext::make({}, {first.certificate + second.certificate, first.key}));
}

TEST(TlsContext, RefusesSuitesThatLeaveNoneUsable) {
  const auto settings = with_cipher_suites({.min = TlsVersion::v1_2, .max = TlsVersion::v1_2},
                                           "TLS_AES_128_GCM_SHA256");
  ASSERT_TRUE(settings);

  EXPECT_FALSE(TlsContext::make(*settings, make_pair_for("first")));
}

TEST(TlsDigest, DependsOnWhereTheHalvesMeet) {
  EXPECT_EQ(digest_of({"ab", "c"}), digest_of({"ab", "c"}));
  EXPECT_NE(digest_of({"ab", "c"}), digest_of({"a", "bc"}));
  EXPECT_NE(digest_of({"ab", "c"}), digest_of({"ab", "d"}));
}

}  // namespace
}  // namespace sluice::net::testing

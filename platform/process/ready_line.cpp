#include "platform/process/ready_line.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>

#include <utility>

namespace sluice::local {
namespace {

constexpr std::size_t kLineBytesMax = 4096;

}  // namespace

ReadyLine::ReadyLine(boost::asio::io_context& io) : pipe_{io} {}

ReadyLine::~ReadyLine() {
  alive_.end();
}

void ReadyLine::await(UniqueFd pipe, std::function<void()> on_line) {
  pipe_.assign(pipe.release());
  on_line_ = std::move(on_line);
  read();
}

void ReadyLine::close() {
  boost::system::error_code ignored;
  pipe_.close(ignored);
}

void ReadyLine::read() {
  pipe_.async_read_some(
      boost::asio::buffer(chunk_),
      [this, alive = alive_.watch()](const boost::system::error_code& failed, std::size_t size) {
        if (failed || alive.over() || !pipe_.is_open()) return;
        text_.append(chunk_.data(), size);
        if (text_.find('\n') != std::string::npos) {
          close();
          on_line_();
        } else if (text_.size() < kLineBytesMax) {
          read();
        }
      });
}

}  // namespace sluice::local

#include "autoscaler/core/recording/input_code.h"

#include "autoscaler/core/recording/decision_fields.h"
#include "common/base/check.h"

#include <bit>
#include <limits>
#include <type_traits>

namespace sluice::autoscaler {
namespace {

enum class Tag : unsigned char { pushed, scraped, evaluated, traffic, replica, rare };

constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::min();
constexpr std::size_t kFiguresMax = 64;  // bits of a mask

// The bytes of a double in reverse: round values are small numbers.
std::uint64_t reversed(std::uint64_t word) {
  std::uint64_t other = 0;
  for (int byte = 0; byte < 8; ++byte) {
    other = other << 8U | (word & 0xffU);
    word >>= 8U;
  }
  return other;
}

template <class Value>
std::int64_t number_of(const Value& value) {
  if constexpr (std::is_same_v<Value, TimePoint>) {
    return value.time_since_epoch().count();
  } else if constexpr (std::is_same_v<Value, Duration>) {
    return value.count();
  } else {
    return static_cast<std::int64_t>(value);
  }
}

template <class Value>
void assign(std::int64_t number, Value& value) {
  if constexpr (std::is_same_v<Value, TimePoint>) {
    value = TimePoint{Duration{number}};
  } else if constexpr (std::is_same_v<Value, Duration>) {
    value = Duration{number};
  } else {
    value = static_cast<Value>(number);
  }
}

// A figure as a word and back.
template <class Value>
std::uint64_t word_of(const Value& value) {
  if constexpr (std::is_same_v<Value, double>) {
    return reversed(std::bit_cast<std::uint64_t>(value));
  } else {
    return static_cast<std::uint64_t>(number_of(value));
  }
}

template <class Value>
std::uint64_t word_of(const std::optional<Value>& value) {
  return static_cast<std::uint64_t>(value ? number_of(*value) : kNone);
}

template <class Value>
void take(std::uint64_t word, Value& value) {
  if constexpr (std::is_same_v<Value, double>) {
    value = std::bit_cast<double>(reversed(word));
  } else {
    assign(static_cast<std::int64_t>(word), value);
  }
}

template <class Value>
void take(std::uint64_t word, std::optional<Value>& value) {
  value.reset();
  if (static_cast<std::int64_t>(word) != kNone)
    assign(static_cast<std::int64_t>(word), value.emplace());
}

void put_number(std::string& bytes, std::uint64_t number) {
  while (number >= 0x80U) {
    bytes += static_cast<char>((number & 0x7fU) | 0x80U);
    number >>= 7U;
  }
  bytes += static_cast<char>(number);
}

std::uint64_t take_number(std::string_view bytes, std::size_t& at) {
  std::uint64_t number = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    CHECK(at < bytes.size());
    const auto byte = static_cast<unsigned char>(bytes[at++]);
    number |= std::uint64_t{byte & 0x7fU} << shift;
    if ((byte & 0x80U) == 0) break;
  }
  return number;
}

// Small numbers for small differences of either sign.
std::uint64_t folded(std::uint64_t difference) {
  return difference << 1U ^ (0 - (difference >> 63U));
}

std::uint64_t unfolded(std::uint64_t number) {
  return number >> 1U ^ (0 - (number & 1U));
}

// Collects the words of an input's figures and writes those that have changed.
class Writer {
 public:
  Writer(std::string& bytes, std::vector<std::uint64_t>& last) : bytes_{bytes}, last_{last} {}

  template <class Value>
  void operator()(const char* /*name*/, const Value& value) {
    CHECK(count_ < kFiguresMax);
    if (last_.size() == count_) last_.resize(count_ + 1);
    const std::uint64_t word = word_of(value);
    std::uint64_t& last = last_[count_];
    if (word != last) {
      mask_ |= std::uint64_t{1} << count_;
      // A double is written as it is: what two have in common is at the wrong end.
      put_number(changed_, std::is_same_v<Value, double> ? word : folded(word - last));
      last = word;
    }
    ++count_;
  }

  void finish() {
    put_number(bytes_, mask_);
    bytes_ += changed_;
  }

 private:
  std::string& bytes_;
  std::vector<std::uint64_t>& last_;
  std::string changed_;
  std::uint64_t mask_ = 0;
  std::size_t count_ = 0;
};

class WordReader {
 public:
  WordReader(std::string_view bytes, std::size_t& at, std::vector<std::uint64_t>& last)
      : bytes_{bytes}, at_{at}, last_{last}, mask_{take_number(bytes, at)} {}

  template <class Value>
  void operator()(const char* /*name*/, Value& value) {
    if (last_.size() == count_) last_.resize(count_ + 1);
    std::uint64_t& last = last_[count_];
    if ((mask_ >> count_ & 1U) != 0) {
      const std::uint64_t number = take_number(bytes_, at_);
      last = std::is_same_v<Value, double> ? number : last + unfolded(number);
    }
    take(last, value);
    ++count_;
  }

 private:
  std::string_view bytes_;
  std::size_t& at_;
  std::vector<std::uint64_t>& last_;
  std::uint64_t mask_;
  std::size_t count_ = 0;
};

// The figures of each kind.
template <class Input, class Visit>
void each_of_stat(Input& input, Visit& visit) {
  visit("at", input.at);
  visit("newest", input.newest);
  visit("average_concurrency", input.stat.average_concurrency);
  visit("average_proxied_concurrency", input.stat.average_proxied_concurrency);
  visit("request_count", input.stat.request_count);
  visit("proxied_request_count", input.stat.proxied_request_count);
}

// Trigger and ready pods are in the record too.
template <class Input, class Visit>
void each_of_eval(Input& input, Visit& visit) {
  visit("proxy_for", input.inputs.proxy_for);
  visit("probe_ok", input.inputs.probe_ok);
  visit("activator_connected", input.inputs.activator_connected);
  each_figure(input.decided, visit);
}

template <class Input, class Visit>
void each_of_traffic(Input& input, Visit& visit) {
  visit("at", input.at);
  visit("arrivals", input.arrivals);
  visit("held", input.held);
  visit("in_flight", input.in_flight);
  visit("service_total", input.service_total);
  for (auto& count : input.tenths) visit("tenths", count);
}

template <class Input, class Visit>
void each_of_replica(Input& input, Visit& visit) {
  visit("at", input.at);
  visit("event", input.event);
  visit("replicas", input.replicas);
  visit("took", input.took);
}

using Counted = std::vector<std::pair<Duration, std::uint32_t>>;

void put_counted(std::string& bytes, const Counted& counted) {
  put_number(bytes, counted.size());
  for (const auto& [longest, count] : counted) {
    put_number(bytes, static_cast<std::uint64_t>(longest.count()));
    put_number(bytes, count);
  }
}

void take_counted(std::string_view bytes, std::size_t& at, Counted& counted) {
  for (std::uint64_t left = take_number(bytes, at); left > 0; --left) {
    const Duration longest{static_cast<std::int64_t>(take_number(bytes, at))};
    counted.emplace_back(longest, static_cast<std::uint32_t>(take_number(bytes, at)));
  }
}

std::size_t heap_of(const ScalerStart& start) {
  const SavedCollector& windows = start.state.collector;
  std::size_t values = 0;
  for (const SavedWindow* window : {&windows.concurrency_stable, &windows.concurrency_panic,
                                    &windows.rps_stable, &windows.rps_panic}) {
    values += window->values.size();
  }
  return values * sizeof(double);
}

}  // namespace

void InputCode::append(const RecordedInput& input) {
  const auto begin = [this](Tag tag) { bytes_ += static_cast<char>(tag); };
  if (const auto* const stat = std::get_if<StatInput>(&input)) {
    begin(stat->scraped ? Tag::scraped : Tag::pushed);
    Writer writer{bytes_, stat->scraped ? last_.scraped : last_.pushed};
    each_of_stat(*stat, writer);
    writer.finish();
  } else if (const auto* const eval = std::get_if<EvalInput>(&input)) {
    begin(Tag::evaluated);
    Writer writer{bytes_, last_.evaluated};
    each_of_eval(*eval, writer);
    writer.finish();
  } else if (const auto* const traffic = std::get_if<TrafficNote>(&input)) {
    begin(Tag::traffic);
    Writer writer{bytes_, last_.traffic};
    each_of_traffic(*traffic, writer);
    writer.finish();
    put_counted(bytes_, traffic->service);
    put_counted(bytes_, traffic->waited);
  } else if (const auto* const replica = std::get_if<ReplicaNote>(&input)) {
    begin(Tag::replica);
    Writer writer{bytes_, last_.replica};
    each_of_replica(*replica, writer);
    writer.finish();
  } else {
    begin(Tag::rare);
    rare_.push_back(input);
    rare_bytes_ += sizeof(RecordedInput);
    if (const auto* const next = std::get_if<TakeOverInput>(&input))
      rare_bytes_ += heap_of(next->start);
    if (const auto* const granted = std::get_if<GrantedNote>(&input))
      rare_bytes_ += granted->shortage.size();
  }
}

std::size_t InputCode::bytes() const {
  return bytes_.capacity() + rare_bytes_;
}

std::optional<RecordedInput> InputCode::Reader::next() {
  const std::string_view bytes = code_.bytes_;
  if (at_ == bytes.size()) return std::nullopt;
  const auto tag = static_cast<Tag>(bytes[at_++]);
  switch (tag) {
    case Tag::pushed:
    case Tag::scraped: {
      StatInput stat{.scraped = tag == Tag::scraped, .stat = {}};
      WordReader reader{bytes, at_, stat.scraped ? last_.scraped : last_.pushed};
      each_of_stat(stat, reader);
      return stat;
    }
    case Tag::evaluated: {
      EvalInput eval;
      WordReader reader{bytes, at_, last_.evaluated};
      each_of_eval(eval, reader);
      eval.inputs.trigger = eval.decided.trigger;
      eval.inputs.ready = eval.decided.ready;
      return eval;
    }
    case Tag::traffic: {
      TrafficNote traffic;
      WordReader reader{bytes, at_, last_.traffic};
      each_of_traffic(traffic, reader);
      take_counted(bytes, at_, traffic.service);
      take_counted(bytes, at_, traffic.waited);
      return traffic;
    }
    case Tag::replica: {
      ReplicaNote replica;
      WordReader reader{bytes, at_, last_.replica};
      each_of_replica(replica, reader);
      return replica;
    }
    case Tag::rare:
      return code_.rare_[rare_at_++];
  }
  return std::nullopt;
}

}  // namespace sluice::autoscaler

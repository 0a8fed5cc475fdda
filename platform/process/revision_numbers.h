#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

namespace sluice::local {

/// The numbers of a service's revisions, `app-00001` and on. They go on when a service is removed
/// and added again, and with a directory also when the engine starts again: the same template gets
/// the number that it had, another one the next. So a name in logs and history stays that of one
/// template.
class RevisionNumbers {
 public:
  /// Services that are remembered, twice as many as an engine runs. Beyond it removed ones are
  /// forgotten.
  static constexpr std::size_t kServicesMax = 20'000;

  /// In memory only.
  RevisionNumbers() = default;

  /// With a record for each service in `directory`, which exists. A record that cannot be read
  /// counts as none, and one that cannot be written is kept in memory only.
  explicit RevisionNumbers(std::filesystem::path directory);

  /// For the first revision of `service` in this engine: that of `hash` when it is the newest one's
  /// template, else the next one.
  [[nodiscard]] int first(const std::string& service, const std::string& hash);

  /// What first() would return, without taking it.
  [[nodiscard]] int expected(const std::string& service, const std::string& hash) const;

  /// What next() would return, without taking it.
  [[nodiscard]] int following(const std::string& service) const;

  /// For a further revision: always the next one.
  [[nodiscard]] int next(const std::string& service, const std::string& hash);

  /// The revision `number` is the newest one again, with the template `hash`: one that came after
  /// it was given up.
  void again(const std::string& service, int number, const std::string& hash);

  /// The newest revision was given up, and `serving` serves in its place; 0: it was not, after all.
  void gave_up(const std::string& service, int serving);

  /// What serves in place of the newest revision, which was given up; 0: none does.
  [[nodiscard]] int serving(const std::string& service) const;

  /// The service is removed while its replicas drain: what follows gets the next number, whatever
  /// its template.
  void removed(const std::string& service);

 private:
  struct Record {
    int last = 0;      // the highest number given
    int newest = 0;    // the one that has `hash`
    std::string hash;  // empty: none is to be taken up again
    int serving = 0;   // in place of the newest, which was given up; 0: none

    friend bool operator==(const Record&, const Record&) = default;
  };

  void make_room();
  int take(const std::string& service, Record record);

  std::optional<std::filesystem::path> directory_;
  std::map<std::string, Record> records_;
};

}  // namespace sluice::local

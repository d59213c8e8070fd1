#include "series/lease_table.h"

#include <algorithm>
#include <utility>

namespace activescale::series {
namespace {

std::string Joined(const std::vector<std::string>& terms) {
  std::string joined;
  for (const std::string& term : terms) joined.append(term).append(",");
  return joined;
}

std::string DemandedName(const Matchers& matchers) {
  for (const Matcher& matcher : matchers) {
    if (matcher.op() == Matcher::Op::kEqual && matcher.label() == kNameLabel) {
      return matcher.value();
    }
  }
  return "";
}

}  // namespace

Lease* LeaseTable::Find(const std::vector<std::string>& terms, const Matchers& matchers) {
  const auto leases = by_name_.find(DemandedName(matchers));
  if (leases == by_name_.end()) return nullptr;
  const auto found = leases->second.find(Joined(terms));
  return found == leases->second.end() ? nullptr : &found->second;
}

Lease& LeaseTable::Insert(Lease lease) {
  const std::string key = Joined(lease.terms);
  ByTerms& leases = by_name_[DemandedName(lease.matchers)];
  const auto [at, fresh] = leases.insert_or_assign(key, std::move(lease));
  if (fresh) ++size_;
  return at->second;
}

bool LeaseTable::EraseOldest() {
  const Lease* oldest = nullptr;
  ForEach([&](const Lease& lease) {
    if (!lease.kept && (oldest == nullptr || lease.used_ms < oldest->used_ms)) oldest = &lease;
  });
  return EraseIf([&](const Lease& lease) { return &lease == oldest; }) != 0;
}

bool LeaseTable::AnyMatches(const metric::Labels& labels) const {
  const auto any_of = [&](const std::string& name) {
    const auto leases = by_name_.find(name);
    return leases != by_name_.end() && std::ranges::any_of(leases->second, [&](const auto& entry) {
             return MatchesAll(entry.second.matchers, labels);
           });
  };
  const std::string name(labels.Get(kNameLabel).value_or(""));
  return (!name.empty() && any_of(name)) || any_of("");
}

}  // namespace activescale::series

#include "kube/pod_store.h"

#include <algorithm>
#include <utility>

#include "base/ascii.h"

// Invariants:
// 1. A posting lists the pods of one label value or one owner in order of name, and is erased with
//    its last pod, so that the index cannot outgrow the pods.
// 2. Nodes of std::map do not move: records and postings point at each other.

namespace activescale::kube {

namespace {

bool ByName(const PodStore::Record* a, const PodStore::Record* b) { return a->name < b->name; }

bool Contains(const std::vector<std::string>& sorted, std::string_view value) {
  return std::ranges::binary_search(sorted, value, std::less<>());
}

}  // namespace

struct PodStore::Record::Posting {
  const std::string* key = nullptr;    // of a label
  const std::string* value = nullptr;  // of a label
  const OwnerRef* owner = nullptr;     // of an owner
  std::vector<Record*> pods;
};

struct PodStore::Namespace {
  using Posting = Record::Posting;
  using Values = std::map<std::string, Posting, std::less<>>;

  std::map<std::string, Record, std::less<>> pods;
  std::map<std::string, Values, std::less<>> labels;
  std::map<OwnerRef, Posting> owners;

  /// The postings that hold just the pods of a requirement of kIn or kExists.
  [[nodiscard]] std::vector<const Posting*> Postings(const metric::Requirement& requirement) const;
  [[nodiscard]] Records AllPods() const;
};

std::vector<const PodStore::Record::Posting*> PodStore::Namespace::Postings(
    const metric::Requirement& requirement) const {
  std::vector<const Posting*> postings;
  const auto values = labels.find(requirement.key);
  if (values == labels.end()) return postings;
  if (requirement.op == metric::Requirement::Op::kExists) {
    for (const auto& [value, posting] : values->second) postings.push_back(&posting);
    return postings;
  }
  for (const std::string& value : requirement.values) {
    const auto it = values->second.find(value);
    if (it != values->second.end()) postings.push_back(&it->second);
  }
  return postings;
}

PodStore::Records PodStore::Namespace::AllPods() const {
  Records records;
  records.reserve(pods.size());
  for (const auto& [name, record] : pods) records.push_back(&record);
  return records;
}

PodStore::PodStore() = default;
PodStore::~PodStore() = default;

std::string ResourceOf(std::string_view group, std::string_view kind) {
  std::string plural = base::Lower(kind);
  const auto ends = [&](std::string_view tail) { return plural.ends_with(tail); };
  if (ends("s") || ends("x") || ends("ch") || ends("sh")) {
    plural += "es";
  } else if (ends("y") && plural.size() > 1 &&
             std::string_view("aeiou").find(plural[plural.size() - 2]) == std::string_view::npos) {
    plural.back() = 'i';
    plural += "es";
  } else {
    plural += "s";
  }
  if (!group.empty()) plural.append(".").append(group);
  return plural;
}

const PodStore::Namespace* PodStore::FindNamespace(std::string_view ns) const {
  const auto it = namespaces_.find(ns);
  return it == namespaces_.end() ? nullptr : &it->second;
}

void PodStore::Index(Namespace& ns, Record& record, const Pod& pod) {
  const auto add = [&record](Record::Posting& posting) {
    posting.pods.insert(std::ranges::lower_bound(posting.pods, &record, ByName), &record);
    return &posting;
  };
  record.labels_.reserve(pod.labels.entries().size());
  for (const auto& [key, value] : pod.labels.entries()) {
    const auto values = ns.labels.try_emplace(key).first;
    const auto it = values->second.try_emplace(value).first;
    it->second.key = &values->first;
    it->second.value = &it->first;
    record.labels_.push_back(add(it->second));
  }
  if (pod.owner.kind.empty()) return;
  const auto owner = ns.owners.try_emplace(pod.owner).first;
  owner->second.owner = &owner->first;
  record.owner_ = add(owner->second);
}

void PodStore::Unindex(Namespace& ns, Record& record) {
  const auto drop = [&record](Record::Posting& posting) {
    posting.pods.erase(std::ranges::lower_bound(posting.pods, &record, ByName));
    return posting.pods.empty();
  };
  for (Record::Posting* posting : record.labels_) {
    if (!drop(*posting)) continue;
    const auto values = ns.labels.find(*posting->key);
    values->second.erase(values->second.find(*posting->value));
    if (values->second.empty()) ns.labels.erase(values);
  }
  record.labels_.clear();
  if (record.owner_ != nullptr && drop(*record.owner_)) {
    ns.owners.erase(ns.owners.find(*record.owner_->owner));
  }
  record.owner_ = nullptr;
}

bool PodStore::SameIndex(const Record& record, const Pod& pod) {
  const auto same_label = [](const Record::Posting* posting, const metric::Labels::Entry& entry) {
    return *posting->key == entry.first && *posting->value == entry.second;
  };
  const OwnerRef none;
  return std::ranges::equal(record.labels_, pod.labels.entries(), same_label) &&
         (record.owner_ == nullptr ? none : *record.owner_->owner) == pod.owner;
}

void PodStore::Upsert(const Pod& pod, const base::Clock& clock) {
  if (pod.finished()) {
    Remove({pod.ns, pod.name});
    return;
  }
  Namespace& ns = namespaces_[pod.ns];
  const auto [it, is_new] = ns.pods.try_emplace(pod.name);
  Record& record = it->second;
  if (is_new) {
    ++size_;
    record.name = it->first;
  }
  if (is_new || !SameIndex(record, pod)) {
    Unindex(ns, record);
    Index(ns, record, pod);
  }
  if (pod.ready && (is_new || !record.ready)) {
    // What we saw happen is now, whatever other clocks say; what was before is as old as it says.
    auto age = std::chrono::nanoseconds::zero();
    if (is_new && pod.ready_since) age = std::max(age, clock.WallNow() - *pod.ready_since);
    record.ready_since = clock.Now() - age;
  }
  record.phase = pod.phase;
  record.ready = pod.ready;
  record.terminating = pod.terminating;
  record.created = pod.created;
  record.ips = pod.ips;
}

void PodStore::Remove(metric::PodKeyView pod) {
  const auto ns = namespaces_.find(pod.ns);
  if (ns == namespaces_.end()) return;
  const auto it = ns->second.pods.find(pod.name);
  if (it == ns->second.pods.end()) return;
  Unindex(ns->second, it->second);
  ns->second.pods.erase(it);
  --size_;
  if (ns->second.pods.empty()) namespaces_.erase(ns);
}

const PodStore::Record* PodStore::Find(metric::PodKeyView pod) const {
  const Namespace* ns = FindNamespace(pod.ns);
  if (ns == nullptr) return nullptr;
  const auto it = ns->pods.find(pod.name);
  return it == ns->pods.end() ? nullptr : &it->second;
}

void PodStore::ForEach(const std::function<void(std::string_view ns, const Record&)>& visit) const {
  for (const auto& [name, ns] : namespaces_) {
    for (const auto& [pod, record] : ns.pods) visit(name, record);
  }
}

std::string_view PodStore::WorkloadOf(const Record& record) {
  if (record.owner_ == nullptr) return record.name;
  std::string_view owner = record.owner_->owner->name;
  if (record.owner_->owner->kind != "ReplicaSet") return owner;
  for (const Record::Posting* posting : record.labels_) {
    if (!posting->key->ends_with("pod-template-hash")) continue;  // Argo Rollouts has its own
    const std::string_view hash = *posting->value;
    if (owner.size() <= hash.size() + 1 || !owner.ends_with(hash)) continue;
    const size_t dash = owner.size() - hash.size() - 1;
    if (owner[dash] == '-') return owner.substr(0, dash);
  }
  return owner;
}

bool PodStore::Holds(const Record& record, const metric::Requirement& requirement) {
  using Op = metric::Requirement::Op;
  const auto it = std::ranges::find_if(record.labels_, [&](const Record::Posting* posting) {
    return *posting->key == requirement.key;
  });
  const bool has = it != record.labels_.end();
  switch (requirement.op) {
    case Op::kIn:
      return has && Contains(requirement.values, *(*it)->value);
    case Op::kNotIn:
      return !has || !Contains(requirement.values, *(*it)->value);
    case Op::kExists:
      return has;
    case Op::kDoesNotExist:
      break;
  }
  return !has;
}

/// The requirement that leaves the fewest pods gives the candidates; the others are checked on
/// each. Requirements that only exclude cannot give them.
PodStore::Records PodStore::Candidates(const Namespace& ns, const metric::Selector& selector) {
  using Op = metric::Requirement::Op;
  std::vector<const Record::Posting*> best;
  size_t fewest = ns.pods.size() + 1;
  for (const metric::Requirement& requirement : selector.requirements()) {
    if (requirement.op != Op::kIn && requirement.op != Op::kExists) continue;
    auto postings = ns.Postings(requirement);
    size_t pods = 0;
    for (const Record::Posting* posting : postings) pods += posting->pods.size();
    if (pods >= fewest) continue;
    fewest = pods;
    best = std::move(postings);
  }
  if (fewest > ns.pods.size()) return ns.AllPods();
  Records records;
  records.reserve(fewest);
  for (const Record::Posting* posting : best) {
    records.insert(records.end(), posting->pods.begin(), posting->pods.end());
  }
  if (best.size() > 1) std::ranges::sort(records, ByName);
  return records;
}

PodStore::Records PodStore::Select(std::string_view ns_name,
                                   const metric::Selector& selector) const {
  const Namespace* ns = FindNamespace(ns_name);
  if (ns == nullptr) return {};
  Records records = Candidates(*ns, selector);
  std::erase_if(records, [&selector](const Record* record) {
    return !std::ranges::all_of(
        selector.requirements(),
        [record](const metric::Requirement& requirement) { return Holds(*record, requirement); });
  });
  return records;
}

PodStore::Records PodStore::OwnedBy(std::string_view ns_name, std::string_view resource,
                                    std::string_view name, bool* known) const {
  *known = false;
  const Namespace* ns = FindNamespace(ns_name);
  if (ns == nullptr) return {};
  Records records;
  for (auto it = ns->owners.lower_bound(OwnerRef{std::string(name), {}, {}});
       it != ns->owners.end() && it->first.name == name; ++it) {
    if (ResourceOf(it->first.group, it->first.kind) != resource) continue;
    *known = true;
    records.insert(records.end(), it->second.pods.begin(), it->second.pods.end());
  }
  std::ranges::sort(records, ByName);
  return records;
}

}  // namespace activescale::kube

// Communicators of devices that several ranks of one machine serve.
//
// All ranks go through all collectives alike. Each rank says of those that it has a member of
// whether its devices would carry them out. A collective is carried out where all its ranks say so.
// Then the ranks of each communicator join it, in one order everywhere, so that no two ranks wait
// for each other.
#include <algorithm>
#include <cstring>
#include <map>
#include <span>
#include <utility>

#include "runtime/load/communication/collectives.h"
#include "runtime/load/communication/native_collectives.h"
#include "runtime/plan/graph_index.h"
#include "runtime/transport/nccl/native_collective.h"

namespace cgraph::engine {

// What a rank says of a collective.
enum class Answer : uint8_t { kNoMember, kNo, kYes };

class CommunicatorsAmongRanks {
 public:
  CommunicatorsAmongRanks(const plan::Plan& plan,
                          const std::vector<std::unique_ptr<device::Device>>& devices,
                          const RankView& view, NativeCollectives& found)
      : plan_(plan), devices_(devices), view_(view), found_(found) {}

  Status Find(const std::vector<std::unique_ptr<LoadedGraph>>& graphs) {
    CGRAPH_RETURN_IF_ERROR(ForEach(
        graphs, [&](LoadedGraph& graph, const auto&, size_t, auto parts, const auto& members) {
          return AddAnswer(parts.front().communicator, members, ShapeOf(*graph.plan, parts));
        }));
    CGRAPH_RETURN_IF_ERROR(Agree());
    size_t next = 0;
    return ForEach(graphs, [&](LoadedGraph& graph, const plan::GraphIndex& index, size_t first,
                               auto parts, const auto& members) {
      if (!agreed_[next++]) return Status::Ok();
      auto communicator = Join(parts.front().communicator, members);
      if (!communicator.ok()) return communicator.status();
      const transport::CollectiveShape shape = ShapeOf(*graph.plan, parts);
      found_.Add(index, parts, {&graph, first, shape.kind, shape.root, *communicator, {}});
      return Status::Ok();
    });
  }

 private:
  // What is known of each communicator of the plan, by number.
  struct Known {
    device::CommunicatorOffer offer;
    bool offered = false;
    std::shared_ptr<device::Communicator> made;
  };

  // Calls visit(graph, index, first part, parts, members) for each collective whose members are all
  // on GPUs of this machine: by rank, their devices.
  template <typename Visit>
  Status ForEach(const std::vector<std::unique_ptr<LoadedGraph>>& graphs, const Visit& visit) {
    for (const auto& graph : graphs) {
      plan::GraphIndex index(plan_, *graph->plan);
      index.IndexMessages();
      CGRAPH_RETURN_IF_ERROR(ForEachCollective(plan_, index, [&](size_t first, auto parts) {
        std::vector<uint32_t> members;
        for (const plan::CollectivePart& part : parts) {
          members.push_back(index.device(part.instruction));
          if (!view_.OnGpu(members.back())) return Status::Ok();
        }
        return visit(*graph, index, first, parts, members);
      }));
    }
    return Status::Ok();
  }

  std::vector<uint32_t> UnitsOf(const std::vector<uint32_t>& members) const {
    std::vector<uint32_t> units;
    for (uint32_t member : members) units.push_back(view_.gpus.at(member));
    return units;
  }

  // Adds this rank's answer about one collective to `answers_`. The first collective of a
  // communicator also fetches this rank's offer: whether it would join, and the id if it makes one.
  Status AddAnswer(uint32_t communicator, const std::vector<uint32_t>& members,
             const transport::CollectiveShape& shape) {
    Known& known = known_[communicator];  // at each rank: Agree() finds the ids by their places
    const auto own = std::find_if(members.begin(), members.end(),
                                  [&](uint32_t member) { return view_.IsHere(member); });
    if (own == members.end()) {
      answers_.push_back(Answer::kNoMember);
      return Status::Ok();
    }
    device::Device& device = *devices_[*own];
    if (!transport::CarriesOut(device, shape)) {
      answers_.push_back(Answer::kNo);
      return Status::Ok();
    }
    if (!std::exchange(known.offered, true)) {
      auto offer = device.communicators()->OfferCommunicator(communicator, UnitsOf(members),
                                                             view_.IsHere(members[0]));
      if (!offer.ok()) return offer.status();
      known.offer = *offer;
    }
    answers_.push_back(known.offer.joins ? Answer::kYes : Answer::kNo);
    return Status::Ok();
  }

  // A collective is carried out where every rank with a member says so.
  Status Agree() {
    std::vector<std::byte> own(answers_.size() + known_.size() * sizeof(device::CommunicatorId));
    if (!answers_.empty()) std::memcpy(own.data(), answers_.data(), answers_.size());
    std::byte* at = own.data() + answers_.size();
    for (const auto& [number, known] : known_) {
      std::memcpy(at, &known.offer.id, sizeof known.offer.id);
      at += sizeof known.offer.id;
    }
    const auto all = view_.exchange->All(own, "what GPUs carry out together");
    if (!all.ok()) return all.status();
    for (size_t i = 0; i < answers_.size(); ++i) {
      agreed_.push_back(std::all_of((*all).begin(), (*all).end(), [&](const auto& theirs) {
        return theirs[i] != std::byte{static_cast<uint8_t>(Answer::kNo)};
      }));
    }
    for (const auto& theirs : *all) ids_.push_back(theirs.subspan(answers_.size()));
    return Status::Ok();
  }

  Result<std::shared_ptr<device::Communicator>> Join(uint32_t communicator,
                                                     const std::vector<uint32_t>& members) {
    const auto at = known_.find(communicator);
    Known& known = at->second;
    if (known.made != nullptr) return known.made;
    std::vector<device::Device*> devices;  // null: another rank's
    device::Device* own = nullptr;
    for (uint32_t member : members) {
      devices.push_back(view_.IsHere(member) ? devices_[member].get() : nullptr);
      if (own == nullptr) own = devices.back();
    }
    if (own == nullptr) {
      known.made = std::make_shared<device::Communicator>();
      return known.made;
    }
    device::CommunicatorId id;
    const auto place = static_cast<size_t>(std::distance(known_.begin(), at));
    std::memcpy(&id, ids_[view_.rank_of_device[members[0]]].data() + place * sizeof id, sizeof id);
    auto made = own->communicators()->JoinCommunicator(communicator, devices, UnitsOf(members), id);
    if (made.ok()) known.made = *made;
    return made;
  }

  const plan::Plan& plan_;
  const std::vector<std::unique_ptr<device::Device>>& devices_;
  const RankView& view_;
  NativeCollectives& found_;
  std::map<uint32_t, Known> known_;
  std::vector<Answer> answers_;                  // of this rank, by collective
  std::vector<bool> agreed_;                     // the same, of all ranks
  std::vector<std::span<const std::byte>> ids_;  // by rank: of all communicators
};

Status NativeCollectives::FindAmongRanks(
    const plan::Plan& plan, const std::vector<std::unique_ptr<device::Device>>& devices,
    const std::vector<std::unique_ptr<LoadedGraph>>& graphs, const RankView& view) {
  return CommunicatorsAmongRanks(plan, devices, view, *this).Find(graphs);
}

}  // namespace cgraph::engine

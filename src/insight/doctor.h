#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "insight/doctor_facts.h"
#include "insight/finding.h"

namespace activescale::insight {

/// Judges all facts of a cluster, causes before what follows from them. Pure.
[[nodiscard]] Findings Diagnose(const DoctorFacts& facts);

/// The parts of Diagnose. `settings`: of the replicas, for the TTL.
[[nodiscard]] Findings DiagnoseInstall(const InstallFacts& facts);
[[nodiscard]] Findings DiagnoseHealth(const ReplicaHealth& health);
[[nodiscard]] Findings DiagnoseWorkload(const WorkloadFacts& facts,
                                        const ReplicaSettings& settings);

/// The failed checks of a text of /readyz?verbose: "store: redis refuses ...".
[[nodiscard]] std::vector<std::string> FailedChecks(std::string_view readyz);

/// Reads the Prometheus text format. Lines that are none are left out.
[[nodiscard]] Samples ReadSamples(std::string_view text);

}  // namespace activescale::insight

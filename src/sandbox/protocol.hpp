#pragma once

/// The words that `ouroboros-sandbox` and the referee exchange: options on the command line,
/// and a report, one "key value" line each, on the descriptor that `--report` names. The report
/// ends (end of file) when the target program has been executed. It begins once the referee has
/// sent `go_ahead` the other way.
namespace ouroboros::sandbox {

inline constexpr char go_ahead = 'g';

inline constexpr const char* report_namespace = "namespace";  ///< A namespace that was entered.
inline constexpr const char* report_landlock = "landlock";    ///< The Landlock ABI in force.
inline constexpr const char* report_missing = "missing";      ///< A sentence for each failure.
inline constexpr const char* report_child = "child";          ///< Process id of the target.
inline constexpr const char* report_error = "error";          ///< The target was not executed.
inline constexpr const char* report_limits = "limits";        ///< Resource limits are in force.

}  // namespace ouroboros::sandbox

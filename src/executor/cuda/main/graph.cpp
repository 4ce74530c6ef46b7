#include "executor/cuda/main/graph.hpp"

namespace ouroboros::cuda {

Graph::Graph(Device& device, const std::function<void()>& enqueue) : device_(device) {
  const auto& driver = device.driver();
  driver.check(driver.cuStreamBeginCapture(device.stream(), capture_relaxed),
               "cuStreamBeginCapture");
  GraphHandle graph = nullptr;
  try {
    enqueue();
  } catch (...) {
    if (driver.cuStreamEndCapture(device.stream(), &graph) == status_success) {
      driver.cuGraphDestroy(graph);
    }
    throw;
  }
  driver.check(driver.cuStreamEndCapture(device.stream(), &graph), "cuStreamEndCapture");
  const int status = driver.cuGraphInstantiate(&executable_, graph, 0);
  driver.cuGraphDestroy(graph);
  driver.check(status, "cuGraphInstantiate");
}

Graph::~Graph() { device_.driver().cuGraphExecDestroy(executable_); }

void Graph::launch() const {
  const auto& driver = device_.driver();
  driver.check(driver.cuGraphLaunch(executable_, device_.stream()), "cuGraphLaunch");
}

}  // namespace ouroboros::cuda

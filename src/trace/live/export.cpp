#include "trace/live/export.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <queue>
#include <vector>

#include "trace/live/arena.hpp"
#include "trace/live/watch.hpp"

namespace ouroboros::live {
namespace {

using Json = nlohmann::ordered_json;

// CUgraphNodeType
enum NodeType : int {
  kernel_node = 0,
  copy_node = 1,
  memset_node = 2,
  host_node = 3,
  graph_node = 4,
  empty_node = 5,
  wait_node = 6,
  record_node = 7,
  signal_node = 8,
  semaphore_node = 9,
  allocation_node = 10,
  free_node = 11,
  batch_node = 12,
  conditional_node = 13
};

// CUlaunchAttributeID
constexpr int cooperative_attribute = 2;
constexpr int cluster_attribute = 4;

// CUpointer_attribute
constexpr int memory_type = 2, range_start = 11, range_bytes = 12;

constexpr int deepest = 8;
constexpr std::size_t most_parameter_bytes = 32764;

struct Export {
  Json launches = Json::array();
  Json refusals = Json::array();

  void refuse(const char* kind, const std::string& message) {
    refusals.push_back({{"kind", kind}, {"message", message}});
  }
};

std::string hex(const std::string& bytes) {
  constexpr char digits[] = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const unsigned char byte : bytes) {
    text.push_back(digits[byte >> 4]);
    text.push_back(digits[byte & 0xF]);
  }
  return text;
}

// Nodes so that each comes after those that it depends on, otherwise as they were captured.
std::vector<Handle> ordered(Handle graph) {
  const Driver& d = driver();
  std::size_t count = 0;
  require(d.get_nodes(graph, nullptr, &count), "cuGraphGetNodes");
  std::vector<Handle> nodes(count);
  if (count != 0) require(d.get_nodes(graph, nodes.data(), &count), "cuGraphGetNodes");
  std::size_t edges = 0;
  require(d.get_edges(graph, nullptr, nullptr, nullptr, &edges), "cuGraphGetEdges");
  std::vector<Handle> from(edges), to(edges);
  // A programmatic dependency is an early start: a replay one after another is always allowed.
  std::vector<EdgeData> data(edges);
  if (edges != 0) {
    require(d.get_edges(graph, from.data(), to.data(), data.data(), &edges), "cuGraphGetEdges");
  }

  std::map<Handle, std::size_t> index;
  for (std::size_t i = 0; i < count; ++i) index[nodes[i]] = i;
  std::vector<std::vector<std::size_t>> next(count);
  std::vector<std::size_t> waits(count);
  for (std::size_t i = 0; i < edges; ++i) {
    next[index.at(from[i])].push_back(index.at(to[i]));
    ++waits[index.at(to[i])];
  }
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
  for (std::size_t i = 0; i < count; ++i) {
    if (waits[i] == 0) ready.push(i);
  }
  std::vector<Handle> result;
  while (!ready.empty()) {
    const std::size_t one = ready.top();
    ready.pop();
    result.push_back(nodes[one]);
    for (const std::size_t later : next[one]) {
      if (--waits[later] == 0) ready.push(later);
    }
  }
  return result;
}

// Memory that the driver knows and the arena does not: a library's own allocation.
void add_external(Json& list, std::size_t at, Address address) {
  const Driver& d = driver();
  int type = 0;
  if (address < 65536 || in_arena(address)) return;
  if (d.pointer_attribute(&type, memory_type, address) != 0) return;
  Address start = 0;
  std::size_t bytes = 0;
  d.pointer_attribute(&start, range_start, address);
  d.pointer_attribute(&bytes, range_bytes, address);
  list.push_back(
      {{"at", at}, {"address", address}, {"start", start}, {"bytes", bytes}, {"memory", type}});
}

struct Parameters {
  std::string block;
  std::vector<std::pair<std::size_t, std::size_t>> fields;  // Offset, size.
};

bool read_parameters(const KernelNode& node, Parameters& parameters) {
  const Driver& d = driver();
  std::size_t total = 0;
  for (std::size_t i = 0;; ++i) {
    std::size_t at = 0, size = 0;
    const Result result = node.function != nullptr
                              ? d.function_parameter(node.function, i, &at, &size)
                              : d.kernel_parameter(node.kernel, i, &at, &size);
    if (result != 0) break;  // There is no call that gives their number.
    parameters.fields.emplace_back(at, size);
    total = std::max(total, at + size);
  }
  if (total > most_parameter_bytes) return false;
  parameters.block.assign(total, '\0');
  if (node.parameters != nullptr) {
    for (std::size_t i = 0; i < parameters.fields.size(); ++i) {
      const auto [at, size] = parameters.fields[i];
      if (node.parameters[i] == nullptr) return false;
      std::memcpy(parameters.block.data() + at, node.parameters[i], size);
    }
    return true;
  }
  if (node.extra == nullptr) return total == 0;
  const void* buffer = nullptr;
  std::size_t bytes = 0;
  for (void** one = node.extra; *one != nullptr; one += 2) {
    if (*one == reinterpret_cast<void*>(1)) buffer = one[1];  // CU_LAUNCH_PARAM_BUFFER_POINTER
    if (*one == reinterpret_cast<void*>(2)) bytes = *static_cast<std::size_t*>(one[1]);
  }
  if (buffer == nullptr && total != 0) return false;
  if (total != 0) std::memcpy(parameters.block.data(), buffer, std::min(bytes, total));
  return true;
}

Json tensor_maps(const Parameters& parameters) {
  // 64 bytes in the constant bank, whose parameters begin 16 bytes past such a place on Hopper.
  constexpr std::size_t bytes = 128, alignment = 16;
  Json maps = Json::array();
  for (std::size_t at = 0; at + bytes <= parameters.block.size(); at += alignment) {
    const auto map = find_map(std::string_view(parameters.block).substr(at, bytes));
    if (!map) continue;
    maps.push_back({{"at", at},
                    {"address", map->address},
                    {"data_type", map->data_type},
                    {"sizes", map->sizes},
                    {"strides_bytes", map->strides_bytes},
                    {"box", map->box},
                    {"element_strides", map->element_strides},
                    {"interleave", map->interleave},
                    {"swizzle", map->swizzle},
                    {"l2_promotion", map->l2_promotion},
                    {"oob_fill", map->oob_fill}});
  }
  return maps;
}

void export_kernel(Handle handle, Export& out) {
  const Driver& d = driver();
  KernelNode node{};
  require(d.get_kernel(handle, &node), "cuGraphKernelNodeGetParams");
  const char* name = nullptr;
  require(node.function != nullptr ? d.function_name(&name, node.function)
                                   : d.kernel_name(&name, node.kernel),
          "The name of a kernel");
  Handle function = node.function, library = nullptr, module = nullptr;
  if (node.kernel != nullptr) {
    d.kernel_library(&library, node.kernel);
    if (function == nullptr) d.kernel_function(&function, node.kernel);
  }
  if (function != nullptr) d.function_module(&module, function);
  const FoundImage found = find_image(module, library, name);
  if (!found.image) {
    out.refuse("kernel_without_code", "The code of the kernel '" + std::string(name) +
                                          "' is unknown: " + found.refusal + ".");
  }

  Parameters parameters;
  if (!read_parameters(node, parameters)) {
    out.refuse("unknown_parameters",
               "The parameters of the kernel '" + std::string(name) + "' cannot be read.");
    return;
  }
  AttributeValue cluster{}, cooperative{};
  if (d.get_attribute(handle, cluster_attribute, &cluster) != 0 || cluster.words[0] == 0) {
    cluster.words[0] = cluster.words[1] = cluster.words[2] = 1;
  }
  if (d.get_attribute(handle, cooperative_attribute, &cooperative) != 0) cooperative.words[0] = 0;

  Json fields = Json::array();
  Json externals = Json::array();
  for (const auto& [at, size] : parameters.fields) {
    fields.push_back({at, size});
    for (std::size_t word = (at + 7) / 8 * 8; word + 8 <= at + size; word += 8) {
      Address value = 0;
      std::memcpy(&value, parameters.block.data() + word, sizeof value);
      add_external(externals, word, value);
    }
  }
  out.launches.push_back({{"kind", "kernel"},
                          {"function", name},
                          {"image", found.image ? Json(*found.image) : Json()},
                          {"paired", found.paired},
                          {"source", found.source ? Json(*found.source) : Json()},
                          {"grid", node.grid},
                          {"block", node.block},
                          {"cluster", {cluster.words[0], cluster.words[1], cluster.words[2]}},
                          {"shared_bytes", node.shared_bytes},
                          {"cooperative", cooperative.words[0] != 0},
                          {"parameters", hex(parameters.block)},
                          {"fields", std::move(fields)},
                          {"tensor_maps", tensor_maps(parameters)},
                          {"externals", std::move(externals)}});
}

void export_memset(Handle handle, Export& out) {
  MemsetNode node{};
  require(driver().get_memset(handle, &node), "cuGraphMemsetNodeGetParams");
  if (node.rows > 1 && node.pitch != node.count * node.width) {
    out.refuse("strided_memset", "A memset has rows that do not lie end to end.");
    return;
  }
  out.launches.push_back({{"kind", "memset"},
                          {"address", node.target},
                          {"value", node.value},
                          {"width", node.width},
                          {"count", node.count * std::max<std::size_t>(node.rows, 1)}});
}

void export_copy(Handle handle, Export& out) {
  constexpr int host = 1, array = 3;
  CopyNode node{};
  require(driver().get_copy(handle, &node), "cuGraphMemcpyNodeGetParams");
  for (const CopyPlace* place : {&node.source, &node.target}) {
    if (place->memory == host) {
      out.refuse("host_copy", "A copy between the host's memory and the device's is captured.");
      return;
    }
    if (place->memory == array) {
      out.refuse("array_copy", "A copy from or to a CUDA array is captured.");
      return;
    }
  }
  const auto address = [](const CopyPlace& place) {
    return place.device + place.z * place.pitch * place.height + place.y * place.pitch +
           place.x_bytes;
  };
  const std::size_t rows =
      std::max<std::size_t>(node.rows, 1) * std::max<std::size_t>(node.depth, 1);
  if (rows > 1 && (node.source.pitch != node.bytes || node.target.pitch != node.bytes)) {
    out.refuse("strided_copy", "A copy has rows that do not lie end to end.");
    return;
  }
  out.launches.push_back({{"kind", "copy"},
                          {"address", address(node.target)},
                          {"from_address", address(node.source)},
                          {"bytes", node.bytes * rows}});
}

void export_nodes(Handle graph, Export& out, int depth) {
  const Driver& d = driver();
  for (const Handle node : ordered(graph)) {
    int type = 0;
    require(d.get_type(node, &type), "cuGraphNodeGetType");
    switch (type) {
      case kernel_node:
        export_kernel(node, out);
        break;
      case memset_node:
        export_memset(node, out);
        break;
      case copy_node:
        export_copy(node, out);
        break;
      case empty_node:
        break;
      case graph_node: {
        Handle child = nullptr;
        require(d.get_child(node, &child), "cuGraphChildGraphNodeGetGraph");
        if (depth < deepest) {
          export_nodes(child, out, depth + 1);
        } else {
          out.refuse("nested_graphs", "Graphs are nested too deeply.");
        }
        break;
      }
      case host_node:
        out.refuse("host_callback", "A host function is called between launches.");
        break;
      case wait_node:
      case record_node:
        out.refuse("external_event", "An event from outside the capture is recorded or awaited.");
        break;
      case allocation_node:
      case free_node:
        out.refuse("stream_ordered_allocation",
                   "Memory is allocated by the stream (cudaMallocAsync), not by PyTorch.");
        break;
      case conditional_node:
        out.refuse("conditional", "A conditional node decides on the device what is launched.");
        break;
      default:
        out.refuse("unknown_node", "A graph node of type " + std::to_string(type) +
                                       " is neither a kernel, a memset nor a copy.");
    }
  }
}

}  // namespace

std::string export_graph(Handle graph) {
  Export out;
  export_nodes(graph, out, 0);
  const Seen all = seen();
  const Json document{{"launches", std::move(out.launches)},
                      {"refusals", std::move(out.refusals)},
                      {"seen", {{"images", all.images}, {"descriptors", all.descriptors}}}};
  return document.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace ouroboros::live

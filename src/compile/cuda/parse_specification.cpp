#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <set>
#include <string>
#include <utility>

#include "compile/cuda/specification.hpp"
#include "compile/cuda/tokens.hpp"

namespace ouroboros::cuda {
namespace {

using Kind = Expression::Kind;

constexpr int most_nesting = 64;
constexpr std::size_t most_terms = 1024;  // In one expression: trees are walked recursively.

// What an expression could not tell from a name. The statements' own words may be names.
constexpr std::array<std::string_view, 18> reserved = {
    "and",   "or",   "not",  "min", "max", "cdiv",       "next_pow2", "sizeof", "sqrt",
    "dtype", "null", "true", "inf", "nan", "tensor_map", "false",     "NULL",   "nullptr"};

constexpr std::array<std::string_view, 5> functions = {"min", "max", "cdiv", "next_pow2", "sqrt"};

/// What a type of C++ is called here, as a part of a sentence.
std::string meant_by(std::string_view type) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 10> types = {
      {{"float", "float32"},
       {"double", "float64"},
       {"half", "float16"},
       {"__half", "float16"},
       {"__nv_bfloat16", "bfloat16"},
       {"int", "int32"},
       {"unsigned", "uint32"},
       {"long", "int64"},
       {"size_t", "uint64"},
       {"char", "int8"}}};
  const auto* const found =
      std::ranges::find(types, type, [](const auto& one) { return one.first; });
  return found == types.end() ? "" : fmt::format(", '{}' perhaps", found->second);
}

/// What another language writes in the place of what is expected here, as a part of a sentence.
std::string_view instead_of(std::string_view found) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 4> words = {
      {{"&", ": write 'and' for '&&'"},
       {"|", ": write 'or' for '||'"},
       {"!", ": write 'not' for '!'"},
       {"(", ": of functions there are min, max, cdiv, next_pow2, sizeof and sqrt"}}};
  const auto* const one =
      std::ranges::find(words, found, [](const auto& word) { return word.first; });
  return one == words.end() ? "" : one->second;
}

/// The first real number in an expression that has one.
const Expression& first_real(const Expression& node) {
  for (const auto& child : node.children) {
    if (child.real) return first_real(child);
  }
  return node;
}

void require_integer(const Expression& node) {
  if (!node.real) return;
  const auto& real = first_real(node);
  throw SpecificationFault(
      real.at, fmt::format("'{}' is no integer, and one is needed here: real numbers are for "
                           "arguments and values, with + - * /, min, max and sqrt",
                           real.text));
}

bool any_real(const Expression& node) {
  return std::any_of(node.children.begin(), node.children.end(),
                     [](const Expression& child) { return child.real; });
}

class Parser {
 public:
  explicit Parser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  LaunchSpecification parse() {
    LaunchSpecification specification;
    auto& statements = specification.statements;
    while (next_ < tokens_.size()) {
      const Position at = peek().at;
      add_statement(statements);
      if (auto* dtypes = std::get_if<Dtypes>(&statements.back().what)) {
        if (!specification.dtypes.empty()) {
          throw SpecificationFault(at, "'dtypes' stands here a second time");
        }
        specification.dtypes = std::move(dtypes->dtypes);
        specification.dtypes_at = at;
        statements.pop_back();
      }
      require_end();
      ++next_;
    }
    return specification;
  }

 private:
  // Nesting of statements and of expressions alike: hostile input must not exhaust the stack.
  class Deeper {
   public:
    explicit Deeper(Parser& parser) : parser_(parser) {
      if (++parser_.depth_ > most_nesting) {
        parser_.fault(fmt::format("more than {} levels are nested", most_nesting));
      }
    }
    ~Deeper() { --parser_.depth_; }
    Deeper(const Deeper&) = delete;
    Deeper& operator=(const Deeper&) = delete;

   private:
    Parser& parser_;
  };

  [[noreturn]] void fault(const std::string& message) const {
    throw SpecificationFault(peek().at, message);
  }

  [[nodiscard]] const Token& peek() const {
    static const Token end;
    return next_ < tokens_.size() ? tokens_[next_] : end;
  }

  [[nodiscard]] bool sees(std::string_view text) const {
    return peek().text == text && peek().kind != Token::Kind::end_of_statement;
  }

  bool accept(std::string_view text) {
    if (!sees(text)) return false;
    ++next_;
    return true;
  }

  [[nodiscard]] std::string found() const {
    return peek().kind == Token::Kind::end_of_statement ? "the end of the statement"
                                                        : "'" + peek().text + "'";
  }

  void expect(std::string_view text) {
    if (accept(text)) return;
    fault(fmt::format("expected '{}' and found {}{}", text, found(), instead_of(peek().text)));
  }

  std::string word(std::string_view what) {
    if (peek().kind != Token::Kind::word) {
      fault(fmt::format("expected {} and found {}", what, found()));
    }
    return tokens_[next_++].text;
  }

  std::string name(std::string_view what) {
    if (std::find(reserved.begin(), reserved.end(), peek().text) != reserved.end()) {
      fault(fmt::format("'{}' is a word of the language and names nothing", peek().text));
    }
    return word(what);
  }

  ElementType type() {
    const Position at = peek().at;
    const auto text = word("a type");
    const auto parsed = parse_element_type(text);
    if (!parsed) {
      throw SpecificationFault(
          at, fmt::format(
                  "'{}' is no type{}: there are dtype, float16, bfloat16, float32, float64, "
                  "float8_e4m3fn, float8_e5m2, bool, int8, uint8, int32, uint32, int64 and uint64",
                  text, meant_by(text)));
    }
    return *parsed;
  }

  void require_end() {
    accept(";");  // As C++ would have it.
    if (peek().kind != Token::Kind::end_of_statement) {
      fault(fmt::format("the statement should end before '{}'{}", peek().text,
                        instead_of(peek().text)));
    }
  }

  [[nodiscard]] bool sees_alternative() const { return sees("else") || sees("elif"); }

  /// Reads a statement, with what follows it on its line after a '}', to the end of a list.
  void add_statement(std::vector<Statement>& list) {
    do {
      if (sees_alternative()) {
        add_alternative(list);
      } else {
        list.push_back(statement());
      }
    } while (sees_alternative() && tokens_[next_ - 1].text == "}");
  }

  // It belongs to the statement right before it, which must be an `if` without one.
  void add_alternative(std::vector<Statement>& list) {
    const Deeper deeper(*this);
    const Position at = peek().at;
    auto* last = list.empty() ? nullptr : std::get_if<Conditional>(&list.back().what);
    // `else: if ...` makes a chain: the alternative belongs to its end.
    for (int links = 0; last != nullptr && !last->second.empty(); ++links) {
      if (links == most_nesting) {
        throw SpecificationFault(at, fmt::format("more than {} levels are nested", most_nesting));
      }
      last = last->ends ? nullptr : std::get_if<Conditional>(&last->second.front().what);
    }
    if (last == nullptr) {
      throw SpecificationFault(
          at, fmt::format("'{}' needs an 'if' statement right before it", peek().text));
    }
    if (accept("elif")) {
      last->second.push_back({at, conditional(at)});
      return;
    }
    expect("else");
    if (sees("if")) {
      last->second.push_back(statement());
      return;
    }
    auto [statements, is_block] = body(at);
    last->second = std::move(statements);
    last->ends = is_block;
  }

  Conditional conditional(Position at) {
    Conditional result;
    result.condition = expression();
    result.first = body(at).first;
    return result;
  }

  /// What the `if`, `else` or `for` at `at` is about, and whether that is a block: a statement
  /// after ':', or lines that are indented more than its own, or statements between '{' and '}'.
  std::pair<std::vector<Statement>, bool> body(Position at) {
    std::vector<Statement> statements;
    if (accept("{")) {
      do {
        add_statement(statements);
        accept(";");
      } while (!accept("}"));
      return {std::move(statements), true};
    }
    expect(":");
    if (peek().kind != Token::Kind::end_of_statement) {
      add_statement(statements);
      return {std::move(statements), false};
    }
    const auto is_inside = [&] {
      return next_ + 1 < tokens_.size() && tokens_[next_ + 1].at.column > at.column;
    };
    if (!is_inside()) {
      fault("a statement belongs after the ':', or into the lines below, indented more than this");
    }
    const auto column = tokens_[next_ + 1].at.column;
    while (is_inside()) {
      ++next_;
      if (peek().at.column != column) {
        fault("this line is indented otherwise than the one before it");
      }
      add_statement(statements);
      require_end();
    }
    return {std::move(statements), true};
  }

  Statement statement() {
    const Deeper deeper(*this);
    const Position at = peek().at;
    const auto verb = word("a statement");
    if (verb == "dtypes") {
      if (depth_ > 1) throw SpecificationFault(at, "'dtypes' cannot depend on anything");
      return {at, dtypes()};
    }
    if (verb == "let") {
      Let let{name("a name"), {}};
      expect("=");
      let.value = value();
      if (let.value.real) reals_.insert(let.name);
      return {at, std::move(let)};
    }
    if (verb == "scratch" || verb == "state") return {at, declaration(verb == "state")};
    if (verb == "memset") {
      auto buffer = name("a buffer");
      expect("=");
      return {at, Memset{std::move(buffer), value()}};
    }
    if (verb == "copy") {
      auto target = name("a buffer");
      expect("=");
      return {at, Copy{std::move(target), name("a buffer")}};
    }
    if (verb == "launch") return {at, call()};
    if (verb == "if") return {at, conditional(at)};
    if (verb == "for") return {at, loop(at)};
    throw SpecificationFault(
        at, fmt::format(
                "'{}' begins no statement: there are scratch, state, let, memset, copy, "
                "launch, if, elif, else, for and dtypes ('//!' is for launch specifications only)",
                verb));
  }

  Dtypes dtypes() {
    Dtypes result;
    do {
      const Position at = peek().at;
      const auto text = word("a dtype");
      const auto dtype = parse_dtype(text);
      if (!dtype) throw SpecificationFault(at, fmt::format("'{}' is no dtype", text));
      result.dtypes.push_back(*dtype);
    } while (accept(","));
    return result;
  }

  Declaration declaration(bool state) {
    Declaration result;
    result.name = name("a name");
    expect(":");
    result.type = type();
    expect("[");
    if (!sees("]")) {
      do {
        result.shape.push_back(expression());
      } while (accept(","));
    }
    expect("]");
    if (state) {
      expect("=");
      if (!sees("[")) {
        result.values = {value()};
        result.fills = true;
        return result;
      }
      expect("[");
      result.values.emplace();
      if (!sees("]")) {
        do {
          result.values->push_back(value());
        } while (accept(","));
      }
      expect("]");
    }
    return result;
  }

  Loop loop(Position at) {
    Loop result;
    result.name = name("a name");
    expect("in");
    expect("range");
    expect("(");
    result.end = expression();
    if (accept(",")) {
      result.begin = std::move(result.end);
      result.end = expression();
      if (accept(",")) result.step = expression();
    }
    expect(")");
    result.body = body(at).first;
    return result;
  }

  KernelCall call() {
    KernelCall result;
    result.kernel = kernel_name();
    expect("<<<");
    result.grid = extents(3);
    expect(",");
    result.block = extents(3);
    bool first = true;
    while (accept(",")) {
      if (first && !names_option()) {
        result.shared_bytes = expression();
      } else {
        option(result);
      }
      first = false;
    }
    expect(">>>");
    expect("(");
    if (!sees(")")) {
      do {
        result.arguments.push_back(argument());
      } while (accept(","));
    }
    expect(")");
    return result;
  }

  std::string kernel_name() {
    std::string result;
    std::uint32_t end = peek().at.column;
    // Parts stand without blanks between them.
    while ((peek().kind == Token::Kind::word || sees("{")) && peek().at.column == end) {
      if (accept("{")) {
        expect("dtype");
        end = peek().at.column + 1;
        expect("}");
        result += "{dtype}";
      } else {
        end += static_cast<std::uint32_t>(peek().text.size());
        result += tokens_[next_++].text;
      }
    }
    if (result.empty()) fault("expected the name of a kernel and found " + found());
    if (sees("<")) {
      fault(
          "a template has no name of its own: call it from an extern \"C\" kernel, with "
          "OUROBOROS_DTYPE as its argument perhaps");
    }
    return result;
  }

  /// Not the bytes of shared memory, which stand third in CUDA.
  [[nodiscard]] bool names_option() const {
    const bool is_given = next_ + 1 < tokens_.size() && tokens_[next_ + 1].text == "=";
    return peek().kind == Token::Kind::word && (peek().text == "cooperative" || is_given);
  }

  void option(KernelCall& call) {
    const Position at = peek().at;
    if (call.shared_bytes && peek().kind != Token::Kind::word) {
      fault("nothing stands here after the bytes of shared memory: there are no streams");
    }
    const auto key = word("an option");
    if (key == "cooperative") {
      call.cooperative = true;
      return;
    }
    if (key == "shared" && !call.shared_bytes) {
      expect("=");
      call.shared_bytes = expression();
    } else if (key == "cluster" && call.cluster.empty()) {
      expect("=");
      call.cluster = extents(3);
    } else {
      throw SpecificationFault(at,
                               fmt::format("'{}' is no option here: there are 'shared = BYTES', "
                                           "'cluster = (X, Y, Z)' and 'cooperative', once each",
                                           key));
    }
  }

  // "(a, b)" is a list of extents and "(a + b) * c" one: the comma on the first level decides.
  Extents extents(std::size_t most) {
    Extents result;
    const bool is_call = next_ + 1 < tokens_.size() && tokens_[next_ + 1].text == "(";
    if (sees("dim3") && is_call) ++next_;  // As CUDA has it.
    if (!sees("(") || !is_list()) {
      result.push_back(expression());
      return result;
    }
    const Position at = peek().at;
    expect("(");
    do {
      result.push_back(expression());
    } while (accept(","));
    expect(")");
    if (result.size() > most) {
      throw SpecificationFault(at, fmt::format("there are at most {} extents here", most));
    }
    return result;
  }

  [[nodiscard]] bool is_list() const {
    int depth = 0;
    for (std::size_t i = next_; i < tokens_.size(); ++i) {
      const auto& text = tokens_[i].text;
      if (text == "(" || text == "[") ++depth;
      if (text == ")" || text == "]") --depth;
      if (depth == 0) return false;
      if (depth == 1 && text == ",") return true;
    }
    return false;
  }

  Argument argument() {
    Argument result;
    result.at = peek().at;
    if (accept("null") || accept("nullptr") || accept("NULL")) {
      result.what = NullArgument{};
      return result;
    }
    if (sees("&")) {
      result.what = pointer();
      return result;
    }
    if (accept("tensor_map")) {
      result.what = tensor_map();
      return result;
    }
    ScalarArgument scalar;
    scalar.value = value();
    if (accept(":")) scalar.type = type();
    result.what = std::move(scalar);
    return result;
  }

  PointerArgument pointer() {
    PointerArgument result;
    expect("&");
    result.buffer = name("a buffer");
    expect("[");
    result.element = expression();
    expect("]");
    return result;
  }

  TensorMapArgument tensor_map() {
    constexpr std::size_t most_dimensions = 5;
    TensorMapArgument map;
    expect("(");
    if (sees("&")) {
      map.base = pointer();
    } else {
      map.base.buffer = name("a buffer");
    }
    while (accept(",")) {
      const Position at = peek().at;
      const auto key = word("an option");
      expect("=");
      if (key == "box") {
        map.box = extents(most_dimensions);
      } else if (key == "sizes") {
        map.sizes = extents(most_dimensions);
      } else if (key == "strides") {
        map.strides = extents(most_dimensions);
      } else if (key == "element_strides") {
        map.element_strides = extents(most_dimensions);
      } else if (key == "swizzle") {
        map.swizzle = expression();
      } else if (key == "interleave") {
        map.interleave = expression();
      } else if (key == "l2_promotion") {
        map.l2_promotion = expression();
      } else if (key == "fill") {
        expect("nan");
        map.fill_nan = true;
      } else {
        throw SpecificationFault(
            at, fmt::format("'{}' is no option of tensor_map: there are box, sizes, strides, "
                            "element_strides, swizzle, interleave, l2_promotion and fill = nan",
                            key));
      }
    }
    expect(")");
    return map;
  }

  /// An integer.
  Expression expression() {
    auto node = value();
    require_integer(node);
    return node;
  }

  /// An integer or a real number.
  Expression value() {
    terms_ = 0;
    return disjunction();
  }

  using Level = Expression (Parser::*)();

  // One level of left-associative operators.
  template <std::size_t N>
  Expression level(const std::array<std::string_view, N>& operators, Level operand) {
    Expression left = (this->*operand)();
    for (;;) {
      const bool goes_on =
          std::any_of(operators.begin(), operators.end(), [this](auto text) { return sees(text); });
      if (!goes_on) return left;
      left = binary(std::move(left), operand);
    }
  }

  Expression binary(Expression left, Level operand) {
    Expression node;
    node.kind = Kind::binary;
    node.at = peek().at;
    node.text = tokens_[next_++].text;
    node.children.push_back(std::move(left));
    node.children.push_back((this->*operand)());
    node.real = any_real(node);
    if (node.text != "+" && node.text != "-" && node.text != "*" && node.text != "/") {
      for (const auto& child : node.children) require_integer(child);
    }
    return node;
  }

  Expression disjunction() {
    return level(std::array<std::string_view, 1>{"or"}, &Parser::conjunction);
  }
  Expression conjunction() {
    return level(std::array<std::string_view, 1>{"and"}, &Parser::inversion);
  }
  Expression inversion() {
    if (!sees("not")) return comparison();
    const Deeper deeper(*this);
    return unary(Kind::invert, &Parser::inversion);
  }
  Expression comparison() {
    static constexpr std::array<std::string_view, 6> operators = {"<=", ">=", "==", "!=", "<", ">"};
    const auto compares = [this] {
      return std::any_of(operators.begin(), operators.end(),
                         [this](auto text) { return sees(text); });
    };
    Expression left = sum();
    if (!compares()) return left;
    Expression node = binary(std::move(left), &Parser::sum);
    // 1 < x < 3 would compare 1 or 0 with 3, which nobody means.
    if (compares()) fault("comparisons do not chain: join them with 'and'");
    return node;
  }
  Expression sum() { return level(std::array<std::string_view, 2>{"+", "-"}, &Parser::product); }
  Expression product() {
    return level(std::array<std::string_view, 3>{"*", "/", "%"}, &Parser::factor);
  }
  Expression factor() {
    const Deeper deeper(*this);
    return sees("-") ? unary(Kind::negate, &Parser::factor) : primary();
  }

  Expression unary(Kind kind, Level operand) {
    Expression node;
    node.kind = kind;
    node.at = peek().at;
    ++next_;
    node.children.push_back((this->*operand)());
    node.real = any_real(node);
    if (kind == Kind::invert) require_integer(node);
    return node;
  }

  Expression primary() {
    if (++terms_ > most_terms) {
      fault(fmt::format("an expression has at most {} terms", most_terms));
    }
    if (accept("(")) {
      if (is_cast()) fault("there are no casts: an argument has its type behind it: 'cols: int64'");
      Expression inner = disjunction();
      expect(")");
      return inner;
    }
    Expression node;
    node.at = peek().at;
    if (peek().kind == Token::Kind::integer) return integer();
    if (sees("true") || sees("false")) {
      node.number = sees("true") ? 1 : 0;
      ++next_;
      return node;
    }
    if (peek().kind == Token::Kind::real || sees("inf") || sees("nan")) return real();
    if (accept("sizeof")) {
      node.kind = Kind::size;
      expect("(");
      node.type = type();
      expect(")");
      return node;
    }
    for (const auto function : functions) {
      if (accept(function)) return function_call(std::move(node), function);
    }
    const std::string operation = next_ > 0 ? tokens_[next_ - 1].text : "";
    if (sees(operation) && (operation == "*" || operation == "<" || operation == ">")) {
      fault(fmt::format("there is no operator '{0}{0}': multiply and divide", operation));
    }
    node.kind = Kind::name;
    node.text = name("a number or a name");
    if (accept(".")) return property(std::move(node));
    node.real = reals_.contains(node.text);
    return node;
  }

  /// "int) a" or "const float*) a", after a bracket: no two operands follow one another.
  [[nodiscard]] bool is_cast() const {
    auto at = next_;
    const auto text = [&] { return at < tokens_.size() ? tokens_[at].text : std::string(); };
    if (text() == "const") ++at;
    if (!parse_element_type(text()) && meant_by(text()).empty()) return false;
    ++at;
    while (text() == "*") ++at;
    if (text() != ")" || ++at == tokens_.size() || text() == "and" || text() == "or") return false;
    const auto kind = tokens_[at].kind;
    return text() == "(" || kind == Token::Kind::word || kind == Token::Kind::integer ||
           kind == Token::Kind::real;
  }

  Expression real() {
    Expression node;
    node.kind = Kind::literal;
    node.real = true;
    node.at = peek().at;
    node.text = peek().text;
    auto digits = std::string_view(node.text);
    const bool is_word = peek().kind == Token::Kind::word;
    if (!is_word && (digits.ends_with('f') || digits.ends_with('F'))) digits.remove_suffix(1);
    const auto* const last = digits.data() + digits.size();
    const auto [end, error] = std::from_chars(digits.data(), last, node.literal);
    if (error != std::errc() || end != last) {
      fault(fmt::format("'{}' is no number that a double holds", node.text));
    }
    ++next_;
    return node;
  }

  /// Perhaps with a suffix, as C++ has it.
  Expression integer() {
    Expression node;
    node.at = peek().at;
    node.text = peek().text;
    auto digits = std::string_view(node.text);
    while (digits.size() > 1 &&
           std::string_view("uUlL").find(digits.back()) != std::string_view::npos) {
      digits.remove_suffix(1);
    }
    const bool hexadecimal = digits.size() > 2 && (digits[1] == 'x' || digits[1] == 'X');
    if (hexadecimal) digits.remove_prefix(2);
    std::uint64_t number = 0;
    const auto* const last = digits.data() + digits.size();
    const auto [end, error] = std::from_chars(digits.data(), last, number, hexadecimal ? 16 : 10);
    if (error != std::errc() || end != last) {
      fault(fmt::format("'{}' is no integer of 64 bits", node.text));
    }
    node.kind = std::in_range<std::int64_t>(number) ? Kind::number : Kind::large;
    node.number = static_cast<std::int64_t>(number);
    ++next_;
    return node;
  }

  Expression function_call(Expression node, std::string_view function) {
    node.kind = Kind::call;
    node.text = function;
    expect("(");
    do {
      node.children.push_back(disjunction());
    } while (accept(","));
    expect(")");
    const auto count = node.children.size();
    const bool one = function == "next_pow2" || function == "sqrt";
    const bool right = function == "cdiv" ? count == 2 : one ? count == 1 : count >= 2;
    if (!right) {
      throw SpecificationFault(node.at, fmt::format("{} takes {}, not {}", function,
                                                    function == "cdiv" ? "two arguments"
                                                    : one              ? "one argument"
                                                                       : "two arguments or more",
                                                    count));
    }
    node.real = function == "sqrt" || any_real(node);
    if (function == "cdiv" || function == "next_pow2") require_integer(node);
    return node;
  }

  Expression property(Expression node) {
    node.kind = Kind::property;
    const Position at = peek().at;
    node.member = word("a property");
    if (node.member == "shape" || node.member == "stride") {
      expect("[");
      node.children.push_back(disjunction());
      require_integer(node.children.back());
      expect("]");
    } else if (node.member != "elements" && node.member != "bytes") {
      throw SpecificationFault(at, fmt::format("a buffer has no '{}': it has shape[i], stride[i], "
                                               "elements and bytes",
                                               node.member));
    }
    return node;
  }

  std::vector<Token> tokens_;
  std::size_t next_ = 0;
  int depth_ = 0;
  std::size_t terms_ = 0;
  std::set<std::string, std::less<>> reals_;  ///< What `let` has named real numbers.
};

}  // namespace

SpecificationFault::SpecificationFault(Position at, const std::string& message)
    : std::runtime_error(at.line == 0
                             ? message
                             : fmt::format("line {}, column {}: {}", at.line, at.column, message)),
      at_(at) {}

LaunchSpecification parse_specification(std::string_view source) {
  return Parser(tokenise(source)).parse();
}

}  // namespace ouroboros::cuda

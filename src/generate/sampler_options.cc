// Ranges of options; names of stages; the text forms of flags.
// What passes check_sampler_options() cannot make a stage fail.
#include "generate/sampler_options.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include "base/fail.h"

namespace quern {
namespace {

// The words of --samplers, as other engines spell them.
constexpr std::array<std::pair<SamplerStageKind, std::string_view>, 9> kStageNames = {{
    {SamplerStageKind::kPenalties, "penalties"},
    {SamplerStageKind::kDry, "dry"},
    {SamplerStageKind::kTopNSigma, "top_n_sigma"},
    {SamplerStageKind::kTopK, "top_k"},
    {SamplerStageKind::kTypical, "typical"},
    {SamplerStageKind::kTopP, "top_p"},
    {SamplerStageKind::kMinP, "min_p"},
    {SamplerStageKind::kXtc, "xtc"},
    {SamplerStageKind::kTemperature, "temperature"},
}};

// Largest finite size of an option; it keeps every f32 step away from overflow.
// 1e6 times a logit of some hundred is far from 3.4e38.
constexpr double kMaxOption = 1e6;
// A report holds this many tokens for each one sampled.
constexpr int64_t kMaxLogprobs = 1000;

// `name` begins the sentence. A NaN is in no range.
Result<void> check_range(std::string_view name, double value, double lowest, double highest) {
  // Written so that NaN fails.
  if (value >= lowest && value <= highest) return {};
  return fail::invalid("{} is {}; it must be from {} to {}.", name, value, lowest, highest);
}

// Over 0: a filter with nothing to keep makes no sense.
Result<void> check_share(std::string_view name, double value) {
  if (value > 0 && value <= 1) return {};
  return fail::invalid("{} is {}; it must be over 0 and at most 1.", name, value);
}

// Windows over the history.
Result<void> check_length(std::string_view name, int64_t value) {
  if (value >= -1) return {};
  return fail::invalid("{} is {}; it must be 0 or more, or -1 for all tokens.", name, value);
}

// Options of temperature, top-k, top-p, min-p, typical, top-n-sigma, XTC.
Result<void> check_filters(const SamplerOptions& options) {
  QUERN_TRY(check_range("The temperature", options.temperature, 0, kMaxOption));
  if (options.top_k < 0) return fail::invalid("Top-k is {}; it must be 0 or more.", options.top_k);
  QUERN_TRY(check_share("Top-p", options.top_p));
  QUERN_TRY(check_share("Typical-p", options.typical_p));
  QUERN_TRY(check_range("Min-p", options.min_p, 0, 1));
  QUERN_TRY(check_range("Top-n-sigma", options.top_n_sigma, 0, kMaxOption));
  QUERN_TRY(check_range("The XTC probability", options.xtc.probability, 0, 1));
  QUERN_TRY(check_range("The XTC threshold", options.xtc.threshold, 0, 1));
  return {};
}

// Options of penalties and DRY. Negative penalties are allowed: they ask for repetition.
Result<void> check_repetition(const SamplerOptions& options) {
  const PenaltyOptions& penalties = options.penalties;
  // The repeat penalty divides: 0 would give infinities.
  QUERN_TRY(check_range("The repeat penalty", penalties.repeat, 1e-6, kMaxOption));
  QUERN_TRY(check_range("The frequency penalty", penalties.frequency, -kMaxOption, kMaxOption));
  QUERN_TRY(check_range("The presence penalty", penalties.presence, -kMaxOption, kMaxOption));
  QUERN_TRY(check_length("The repeat window", penalties.window));
  QUERN_TRY(check_range("The DRY multiplier", options.dry.multiplier, 0, kMaxOption));
  // Below 1 a longer repetition would cost less.
  QUERN_TRY(check_range("The DRY base", options.dry.base, 1, kMaxOption));
  QUERN_TRY(check_length("The DRY range", options.dry.range));
  if (options.dry.allowed_length < 1) {
    return fail::invalid("The DRY allowed length is {}; it must be 1 or more.",
                         options.dry.allowed_length);
  }
  return {};
}

// Options of Mirostat and of the dynamic temperature.
Result<void> check_temperatures(const SamplerOptions& options) {
  const MirostatOptions& mirostat = options.mirostat;
  if (mirostat.version != 0 && mirostat.version != 2) {
    return fail::invalid("The Mirostat version is {}; it must be 0 (off) or 2.", mirostat.version);
  }
  QUERN_TRY(check_range("Mirostat's tau", mirostat.tau, 0, kMaxOption));
  QUERN_TRY(check_range("Mirostat's eta", mirostat.eta, 0, kMaxOption));
  const DynamicTemperatureOptions& dynamic = options.dynamic_temperature;
  QUERN_TRY(check_range("The dynamic temperature range", dynamic.range, 0, kMaxOption));
  QUERN_TRY(check_range("The dynamic temperature exponent", dynamic.exponent, 0, kMaxOption));
  return {};
}

// A stage may be left out, but not stand twice.
Result<void> check_order(const std::vector<SamplerStageKind>& order) {
  for (size_t i = 0; i < order.size(); ++i) {
    if (std::find(order.begin(), order.begin() + static_cast<int64_t>(i), order[i]) !=
        order.begin() + static_cast<int64_t>(i)) {
      return fail::invalid("The sampler stage '{}' stands twice in the order.",
                           sampler_stage_name(order[i]));
    }
  }
  return {};
}

}  // namespace

// Errors name the option, its value and its range.
Result<void> check_sampler_options(const SamplerOptions& options) {
  QUERN_TRY(check_filters(options));
  QUERN_TRY(check_repetition(options));
  QUERN_TRY(check_temperatures(options));
  // The upper limit of ids is the vocabulary's: unknown here, and ids beyond it are ignored.
  for (const LogitBias& bias : options.logit_bias) {
    if (bias.token < 0) {
      return fail::invalid("The logit bias names token {}; ids begin at 0.", bias.token);
    }
    // +infinity on two tokens would leave them equal for ever; -infinity forbids.
    if (std::isnan(bias.bias) || bias.bias == std::numeric_limits<float>::infinity()) {
      return fail::invalid("The logit bias of token {} is {}; it must be finite or -inf.",
                           bias.token, bias.bias);
    }
  }
  if (options.num_logprobs < -1 || options.num_logprobs > kMaxLogprobs) {
    return fail::invalid("The number of log-probabilities is {}; it must be from 0 to {}.",
                         options.num_logprobs, kMaxLogprobs);
  }
  return check_order(options.order);
}

// "unknown" for a value outside of the enumeration.
std::string_view sampler_stage_name(SamplerStageKind kind) {
  for (const auto& [stage, name] : kStageNames) {
    if (stage == kind) return name;
  }
  return "unknown";
}

// The empty text is no stages at all.
Result<std::vector<SamplerStageKind>> parse_sampler_order(std::string_view text) {
  std::vector<SamplerStageKind> order;
  while (!text.empty()) {
    const size_t end = std::min(text.find(';'), text.size());
    const std::string_view name = text.substr(0, end);
    // Past the separator, or to the end of the text.
    text.remove_prefix(std::min(end + 1, text.size()));
    // An empty name, between two separators, is not known either.
    const auto* found = std::find_if(kStageNames.begin(), kStageNames.end(),
                                     [&](const auto& entry) { return entry.second == name; });
    if (found == kStageNames.end()) {
      return fail::invalid("The sampler stage '{}' is not known; those known are {}.", name,
                           sampler_order_text(default_sampler_order()));
    }
    order.push_back(found->first);
  }
  QUERN_TRY(check_order(order));
  return order;
}

// Reads back.
std::string sampler_order_text(const std::vector<SamplerStageKind>& order) {
  std::string text;
  for (const SamplerStageKind kind : order) {
    if (!text.empty()) text += ';';
    text += sampler_stage_name(kind);
  }
  return text;
}

// The sign belongs to the form, not to the number.
Result<LogitBias> parse_logit_bias(std::string_view text) {
  const auto bad = [&] {
    return fail::invalid(
        "The logit bias '{}' is not of the form ID+BIAS or ID-BIAS (15+1.5, 15-inf).", text);
  };
  LogitBias bias;
  const char* const end = text.data() + text.size();
  const auto [sign, id_error] = std::from_chars(text.data(), end, bias.token);
  if (id_error != std::errc() || sign == end || (*sign != '+' && *sign != '-')) return bad();
  const auto [rest, error] = std::from_chars(sign + 1, end, bias.bias);
  // "15--2" would parse as the number -2 behind the sign.
  // from_chars takes a '-' of its own, but no '+'.
  if (error != std::errc() || rest != end || std::isnan(bias.bias) || sign[1] == '-') return bad();
  if (*sign == '-') bias.bias = -bias.bias;
  // "-3+1" parses as token -3.
  if (bias.token < 0 || bias.bias == std::numeric_limits<float>::infinity()) return bad();
  return bias;
}

// Bytes of a text may stand anywhere inside of a token.
std::vector<int32_t> dry_breaker_tokens(const Tokenizer& tokenizer,
                                        const std::vector<std::string>& texts) {
  std::vector<int32_t> tokens;
  for (int32_t id = 0; id < tokenizer.vocab_size(); ++id) {
    const std::string_view bytes = tokenizer.token_bytes(id);
    const auto is_inside = [&](const std::string& text) {
      return !text.empty() && bytes.find(text) != std::string_view::npos;
    };
    if (std::any_of(texts.begin(), texts.end(), is_inside)) tokens.push_back(id);
  }
  return tokens;
}

}  // namespace quern

// Patterns are those of each model's tokenizer.json, in PCRE2's syntax. Where they differ from the
// published text, the matches are the same and the reason is beside them: mostly a form in which a
// long text takes linear time.
#include "text/pre_tokenizer_table.h"

#include <algorithm>
#include <array>
#include <vector>

namespace quern {
namespace {

using enum SplitKind;

// A part of a pattern; parts are joined by + at compile time.
template <size_t N>
struct Part {
  std::array<char, N> chars{};
  constexpr Part() = default;
  // A pattern known to the compiler, so that long patterns are put together from named parts.
  constexpr Part(const char (&literal)[N + 1]) { std::copy_n(literal, N, chars.begin()); }
  constexpr operator std::string_view() const { return {chars.data(), N}; }
};
// The length is part of the type.
template <size_t N>
Part(const char (&)[N]) -> Part<N - 1>;

// Concatenation.
template <size_t N, size_t M>
constexpr Part<N + M> operator+(const Part<N>& a, const Part<M>& b) {
  Part<N + M> joined;
  std::copy(b.chars.begin(), b.chars.end(),
            std::copy(a.chars.begin(), a.chars.end(), joined.chars.begin()));
  return joined;
}
template <size_t N, size_t M>
constexpr auto operator+(const Part<N>& a, const char (&b)[M]) {
  return a + Part(b);
}

// GPT-2: contractions, letters, numbers, the rest, white space; a word keeps the space before it.
constexpr Part kGpt2Words(R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+)"
                          R"(| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)");

// Parts of the family that began with cl100k.
constexpr Part kContraction(R"((?i:'s|'t|'re|'ve|'m|'ll|'d))");
// A word with the sign or space before it.
constexpr Part kWord(R"([^\r\n\p{L}\p{N}]?\p{L}+)");
// Signs with the space before and the line breaks behind them.
constexpr Part kSigns(R"( ?[^\s\p{L}\p{N}]+[\r\n]*)");
// Line breaks, spaces before a word, other spaces.
constexpr Part kSpaces(R"(\s*[\r\n]+|\s+(?!\S)|\s+)");
// Whole patterns, by the model that brought them.
constexpr auto kLlama3Words =
    kContraction + "|" + kWord + R"(|\p{N}{1,3}|)" + kSigns + "|" + kSpaces;
constexpr auto kQwen2Words = kContraction + "|" + kWord + R"(|\p{N}|)" + kSigns + "|" + kSpaces;
constexpr auto kQwen35Words = kContraction +
                              R"(|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N})"
                              R"(| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|)" +
                              kSpaces;
constexpr auto kSeedCoderWords =
    kContraction + "|" + kWord + R"(|\p{N}| ?[^\s\p{L}\p{N}\r\n]+|)" + kSpaces;
constexpr auto kMiniCpm5Words = kContraction + "|" + kWord + R"(|\p{N}+|)" + kSigns + "|" + kSpaces;
// The look-behind is ours: behind a piece of a run of spaces no line can end any more.
constexpr auto kJais2Words =
    kContraction + "|" + kWord + R"(|\p{N}{1,3}|)" + kSigns +
    R"(|(?<![^\S\r\n])\s*[\r\n]+|\s{512}(?!\S)|\s{256}(?!\S)|\s{128}(?!\S)|\s{64}(?!\S)|\s{32}(?!\S))"
    R"(|\s{16}(?!\S)|\s{8}(?!\S)|\s{4}(?!\S)|\s{1,2}(?!\S)|\s)";
// A word may have spaces inside. Possessive: nothing follows that could make it give back.
constexpr auto kExaoneMoeWords = kContraction +
                                 R"(|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*+(?: \p{L}\p{M}*+)*+)++)"
                                 R"(|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+)";
constexpr Part kBailingMoeWords(R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N})"
                                R"(| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+)");

// Parts of the family that began with o200k: a word is capitals, then small letters.
constexpr Part kBefore(R"([^\r\n\p{L}\p{N}]?)");
// Letters by case, for the families that split words where the case changes.
constexpr Part kUpper(R"([\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}])");
constexpr Part kLower(R"([\p{Ll}\p{Lm}\p{Lo}\p{M}])");
// As kSigns, with slashes, for paths and addresses.
constexpr Part kSignsOrSlashes(R"( ?[^\s\p{L}\p{N}]+[\r\n/]*)");
constexpr auto kCasedWord = kBefore + kUpper + "*" + kLower + "+" + kContraction + "?|" + kBefore +
                            kUpper + "+" + kLower + "*" + kContraction + "?";
constexpr auto kO200kWords = kCasedWord + R"(|\p{N}{1,3}|)" + kSignsOrSlashes + "|" + kSpaces;
constexpr auto kYoutuWords = kCasedWord + R"(|\p{N}|)" + kSignsOrSlashes + "|" + kSpaces;
constexpr auto kTekkenWords = kBefore + kUpper + "*" + kLower + "+|" + kBefore + kUpper + "+" +
                              kLower + R"(*|\p{N}|)" + kSignsOrSlashes + "|" + kSpaces;
// Kimi K2 takes Han out of o200k's classes; [...&&[^\p{Han}]] is written as what it leaves out.
// PCRE2's \p{Han} would have the script extensions, too.
constexpr Part kUpperNotHan(R"([^\p{Ll}\p{N}\p{P}\p{S}\p{Z}\p{C}\p{sc:Han}])");
// Letters of any case that are not Chinese.
constexpr Part kLowerNotHan(R"([^\p{Lu}\p{Lt}\p{N}\p{P}\p{S}\p{Z}\p{C}\p{sc:Han}])");
constexpr auto kKimiK2Words = Part(R"(\p{sc:Han}+|)") + kBefore + kUpperNotHan + "*" +
                              kLowerNotHan + "+" + kContraction + "?|" + kBefore + kUpperNotHan +
                              "+" + kLowerNotHan + "*" + kContraction + R"(?|\p{N}{1,3}|)" +
                              kSigns + "|" + kSpaces;

constexpr auto kDeepseek3Words =
    Part(R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+)"
         R"(| ?[\p{P}\p{S}]+[\r\n]*|)") +
    kSpaces;
// Everything that is no space and no mark of punctuation of the languages it was made for.
constexpr Part kBloomWords(
    R"( ?[^(\s|.,!?\x{2026}\x{3002}\x{FF0C}\x{3001}\x{964}\x{6D4}\x{60C})]+)");

// Rules by name. Several rules split one after another.
constexpr SplitRule kGpt2[] = {{kGpt2Words}};
constexpr SplitRule kDigitsThenGpt2[] = {{R"(\p{N})"}, {kGpt2Words}};
constexpr SplitRule kLlama3[] = {{kLlama3Words}};
constexpr SplitRule kQwen2[] = {{kQwen2Words}};
constexpr SplitRule kQwen35[] = {{kQwen35Words}};
constexpr SplitRule kO200k[] = {{kO200kWords}};
constexpr SplitRule kTekken[] = {{kTekkenWords}};
constexpr SplitRule kKimiK2[] = {{kKimiK2Words}};
constexpr SplitRule kBailingMoe[] = {{kBailingMoeWords}};
constexpr SplitRule kSeedCoder[] = {{kSeedCoderWords}};
constexpr SplitRule kExaoneMoe[] = {{kExaoneMoeWords}};
constexpr SplitRule kJais2[] = {{kJais2Words}};
constexpr SplitRule kBloom[] = {{kBloomWords}};
constexpr SplitRule kViking[] = {{kBloomWords}, {R"(\p{N})"}};
constexpr SplitRule kMiniCpm5[] = {{R"(\p{N}{1,3})"}, {kMiniCpm5Words}};
constexpr SplitRule kLaguna[] = {{R"([^\n]+|[\n]+)"}, {kQwen2Words}};

// Files from before pre-tokenizers had names.
constexpr SplitRule kDefault[] = {
    {R"([\p{P}$+<=>^~|]+)"}, {kGpt2Words}, {R"(\p{N}+)"}, {R"([0-9][0-9][0-9])"}};

// Signs first, then words, then digits by three.
constexpr SplitRule kFalcon[] = {{R"([\p{P}$+<=>^~|`]+)"}, {kGpt2Words}, {R"([0-9][0-9][0-9])"}};

// The published digit rule, \d{1,3}(?=(?:\d{3})*\b), reads on to the end of a number for each
// group. Its \b counts marks as letters, PCRE2's does not.
constexpr SplitRule kTinyAya[] = {{R"(\d++(?![\p{L}\p{M}\p{N}\p{Pc}]))", kDigitTriples},
                                  {kO200kWords}};

// The second rule is published as the empty match (?=(\d{3})+(?!\d)).
constexpr SplitRule kSuperBpe[] = {{R"(\p{N}+)"}, {R"(\d+)", kTripleCuts}};

// Digits by three, Chinese and Japanese runs, then words.
constexpr SplitRule kDeepseek3[] = {{R"(\p{N}{1,3})"},
                                    {R"([\x{4E00}-\x{9FA5}\x{3040}-\x{309F}\x{30A0}-\x{30FF}]+)"},
                                    {kDeepseek3Words}};

// Blocks of the scripts of East and South-East Asia in the second rule.
constexpr SplitRule kAfmoe[] = {
    {R"(\p{N}+)", kDigitTriples},
    {R"([\x{4E00}-\x{9FFF}\x{3400}-\x{4DBF}\x{F900}-\x{FAFF}\x{3040}-\x{309F}\x{30A0}-\x{30FF})"
     R"(\x{FF65}-\x{FF9F}\x{2F00}-\x{2FDF}\x{E40}-\x{E7F}\x{E80}-\x{EFF}\x{1780}-\x{17FF})"
     R"(\x{1000}-\x{109F}\x{AA60}-\x{AA7F}\x{A9E0}-\x{A9FF}\x{AC00}-\x{D7AF}\x{1100}-\x{11FF}]+)"},
    {kDeepseek3Words}};

// Rules that end words at special sequences, as their tokenizers do.
constexpr SplitRule kYoutu[] = {
    {R"([\x{AC00}-\x{D7A3}\x{3131}-\x{318E}]+)"
     R"(|[\x{FF01}\x{2026}\x{201C}\x{201D}\x{2018}\x{2019}\x{2014}\x{FF1A}\x{FF1B}\x{FF0C})"
     R"(\x{3001}-\x{303F}\x{FE30}-\x{FE4F}]+)"
     R"(|[\x{3105}-\x{312F}]+|[\x{4E00}-\x{9FA5}\x{3040}-\x{309F}\x{30A0}-\x{30FF}]+)"},
    {kYoutuWords}};

constexpr SplitRule kChameleon[] = {{R"(<sentinel:[0-9]+>)"},    {R"(IMGIMG[A-I]{1,4}Z)"},
                                    {R"([\t\n]|    |  )"},       {R"(\p{N})"},
                                    {R"([\p{P}!-/:-@\[-`{-~])"}, {kGpt2Words}};

constexpr SplitRule kDeepseekCoder[] = {
    {R"([\r\n])"},
    {R"(\s?\p{L}+)"},
    {R"(\s?\p{P}+)"},
    {R"([\x{4E00}-\x{9FA5}\x{800}-\x{4E00}\x{AC00}-\x{D7FF}]+)"},
    {R"(\p{N})"}};

// Cased letters, as the model lists them.
constexpr Part kCasedLetters(
    R"(A-Za-z\x{B5}\x{C0}-\x{D6}\x{D8}-\x{F6}\x{F8}-\x{1BA}\x{1BC}-\x{1BF}\x{1C4}-\x{293})"
    R"(\x{295}-\x{2AF}\x{370}-\x{373}\x{376}\x{377}\x{37B}-\x{37D}\x{37F}\x{386})"
    R"(\x{388}-\x{38A}\x{38C}\x{38E}-\x{3A1}\x{3A3}-\x{3F5}\x{3F7}-\x{481}\x{48A}-\x{52F})"
    R"(\x{531}-\x{556}\x{10A0}-\x{10C5}\x{13A0}-\x{13F5}\x{13F8}-\x{13FD}\x{1C90}-\x{1CBA})"
    R"(\x{1CBD}-\x{1CBF}\x{1D00}-\x{1D2B}\x{1D6B}-\x{1D77}\x{1D79}-\x{1D9A}\x{1E00}-\x{1F15})"
    R"(\x{1F18}-\x{1F1D}\x{1F20}-\x{1F45}\x{1F48}-\x{1F4D}\x{1F50}-\x{1F57}\x{1F59}\x{1F5B})"
    R"(\x{1F5D}\x{1F5F}-\x{1F7D}\x{1F80}-\x{1FB4}\x{1FB6}-\x{1FBC}\x{1FBE}\x{1FC2}-\x{1FC4})"
    R"(\x{1FC6}-\x{1FCC}\x{1FD0}-\x{1FD3}\x{1FD6}-\x{1FDB}\x{1FE0}-\x{1FEC}\x{1FF2}-\x{1FF4})"
    R"(\x{1FF6}-\x{1FFC}\x{2102}\x{2107}\x{210A}-\x{2113}\x{2115}\x{2119}-\x{211D}\x{2124})"
    R"(\x{2126}\x{2128}\x{212A}-\x{212D}\x{212F}-\x{2134}\x{2139}\x{213C}-\x{213F})"
    R"(\x{2145}-\x{2149}\x{214E}\x{2183}\x{2184}\x{2C00}-\x{2C7B}\x{2C7E}-\x{2CE4})"
    R"(\x{2CEB}-\x{2CEE}\x{2CF2}\x{2CF3}\x{A640}-\x{A66D}\x{A680}-\x{A69B}\x{A722}-\x{A76F})"
    R"(\x{A771}-\x{A787}\x{A78B}-\x{A78E}\x{AB70}-\x{ABBF}\x{FB00}-\x{FB06}\x{FB13}-\x{FB17})"
    R"(\x{FF21}-\x{FF3A}\x{FF41}-\x{FF5A}\x{10400}-\x{1044F}\x{104B0}-\x{104D3})"
    R"(\x{104D8}-\x{104FB}\x{10C80}-\x{10CB2}\x{10CC0}-\x{10CF2}\x{118A0}-\x{118DF})"
    R"(\x{1E900}-\x{1E943})");
// Letters with case, in the notation of a class.
constexpr auto kDeepseekLlmWord = Part(R"(\s?[)") + kCasedLetters + "]+";

// A plain \s+$ would look through a run of spaces from each of its characters: hence (?<!\s).
constexpr SplitRule kDeepseekLlm[] = {
    {R"([\r\n])"},
    {kDeepseekLlmWord},
    {R"(\s?[!-/:-~\x{FF01}-\x{FF0F}\x{FF1A}-\x{FF5E}\x{2018}-\x{201F}\x{3000}-\x{3002}]+)"},
    {R"((?<!\s)\s+$)"},
    {R"([\x{4E00}-\x{9FA5}\x{800}-\x{4E00}\x{AC00}-\x{D7FF}]+)"},
    {R"(\p{N}+)"}};

// One row per name that stands in files.
constexpr PreTokenizerSpec kPreTokenizers[] = {
    {"a.x-4.0", kGpt2},
    {"afmoe", kAfmoe},
    {"bailingmoe", kBailingMoe},
    {"bailingmoe2", kBailingMoe},
    {"bloom", kBloom},
    {"chameleon", kChameleon, false, true},
    {"chatglm-bpe", kLlama3},
    {"codeshell", kDigitsThenGpt2},
    {"cohere2moe", kTinyAya},
    {"command-r", kDigitsThenGpt2},
    {"dbrx", kLlama3},
    {"deepseek-coder", kDeepseekCoder},
    {"deepseek-llm", kDeepseekLlm},
    {"deepseek-r1-qwen", kQwen2},
    {"deepseek-v3", kDeepseek3},
    {"default", kDefault},
    {"exaone", kDigitsThenGpt2},
    {"exaone-moe", kExaoneMoe},
    {"exaone4", kGpt2},
    {"f2llmv2", kQwen2},
    {"falcon", kFalcon},
    {"falcon-h1", kLlama3, true, true},
    {"falcon3", kLlama3, true, true},
    {"gigachat", kGpt2},
    {"glm4", kLlama3},
    {"gpt-2", kGpt2},
    {"gpt-4o", kO200k},
    {"gpt3-finnish", kBloom},
    {"granite-docling", kGpt2},
    {"granite-embed-multi-97m", kO200k, true},
    {"grok-2", kQwen2},
    {"hunyuan", kQwen2},
    {"hunyuan-dense", kDeepseek3},
    {"jais", kGpt2},
    {"jais-2", kJais2},
    {"jina-de", kGpt2},
    {"jina-es", kGpt2},
    {"jina-v1-en", kGpt2},
    {"jina-v2-code", kGpt2},
    {"jina-v2-de", kGpt2},
    {"jina-v2-es", kGpt2},
    {"jina-v5-nano", kLlama3, true, true},
    {"joyai-llm", kDeepseek3},
    {"kanana2", kO200k},
    {"kimi-k2", kKimiK2},
    {"kormo", kQwen2},
    {"laguna", kLaguna},
    {"lfm2", kLlama3, true, true},
    {"llada-moe", kBailingMoe},
    {"llama-bpe", kLlama3, true, true},
    {"llama-v3", kLlama3, true, true},
    {"llama3", kLlama3, true, true},
    {"llama4", kO200k},
    {"megrez", kQwen2},
    {"mellum", kGpt2},
    {"mellum2", kDigitsThenGpt2},
    {"midm-2.0", kLlama3, true, true},
    {"minerva-7b", kDigitsThenGpt2},
    {"minicpm5", kMiniCpm5, true},
    {"minimax-m2", kO200k},
    {"modern-bert", kGpt2},
    {"mpt", kGpt2},
    {"olmo", kGpt2},
    {"phi-2", kGpt2},
    {"pixtral", kLlama3, true, true},
    {"poro-chat", kBloom},
    {"qwen2", kQwen2},
    {"qwen35", kQwen35},
    {"refact", kDigitsThenGpt2},
    {"roberta-bpe", kGpt2},
    {"seed-coder", kSeedCoder},
    {"smaug-bpe", kLlama3},
    {"smollm", kDigitsThenGpt2},
    {"solar-open", kQwen2},
    {"stablelm2", kQwen2},
    {"starcoder", kDigitsThenGpt2},
    {"superbpe", kSuperBpe},
    {"talkie", kO200k},
    {"tekken", kTekken, true, true},
    {"tiny_aya", kTinyAya},
    {"trillion", kGpt2},
    {"viking", kViking},
    {"youtu", kYoutu, true},
};

}  // namespace

// Null for a name that is not known.
const PreTokenizerSpec* find_pre_tokenizer(std::string_view name) {
  if (name.empty()) name = "default";
  const auto* end = std::end(kPreTokenizers);
  const auto* found = std::find_if(std::begin(kPreTokenizers), end,
                                   [&](const PreTokenizerSpec& s) { return s.name == name; });
  return found == end ? nullptr : found;
}

// All of them, in the order of the table.
std::span<const PreTokenizerSpec> pre_tokenizers() {
  return kPreTokenizers;
}

// For errors: which names there are.
std::string pre_tokenizer_names() {
  std::vector<std::string_view> names;
  for (const PreTokenizerSpec& spec : kPreTokenizers) names.push_back(spec.name);
  std::sort(names.begin(), names.end());
  std::string list;
  for (const std::string_view name : names) {
    if (!list.empty()) list += ", ";
    list += name;
  }
  return list;
}

}  // namespace quern

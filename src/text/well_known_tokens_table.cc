// Texts as they stand in the published vocabularies of the models named beside them.
#include "text/well_known_tokens_table.h"

namespace quern {
namespace {

using enum WellKnownEffect;

// By text. Where two tokens of a model claim one role, the first row that matches counts.
constexpr WellKnownToken kTokens[] = {
    // End of a turn.
    {"<|eot_id|>", &SpecialIds::eot, kEnds},             // Llama 3
    {"<|im_end|>", &SpecialIds::eot, kEnds},             // ChatML: Qwen, SmolLM, ...
    {"<|end|>", &SpecialIds::eot, kEnds},                // Phi-3
    {"<end_of_turn>", &SpecialIds::eot, kEnds},          // Gemma 2, 3
    {"<turn|>", &SpecialIds::eot, kEnds},                // Gemma 4
    {"<|endoftext|>", &SpecialIds::eot, kEnds},          // GPT-2, ...
    {"<|end_of_text|>", &SpecialIds::eot, kEnds},        // Granite, Llama 3
    {"<EOT>", &SpecialIds::eot, kEnds},                  // CodeLlama
    {"_<EOT>", &SpecialIds::eot, kEnds},                 //
    {"▁<EOT>", &SpecialIds::eot, kEnds},                 // CodeLlama
    {"[EOT]", &SpecialIds::eot, kEnds},                  // Kimi K2
    {"<｜end▁of▁sentence｜>", &SpecialIds::eot, kEnds},  // DeepSeek
    {"<end_of_utterance>", &SpecialIds::eot, kEnds},     // SmolVLM, SmolDocling
    {"<|eom_id|>", &SpecialIds::eom, kEnds},             // Llama 3.1, tool calls
    // Other ends.
    {"<|return|>", nullptr, kEnds},        // gpt-oss
    {"<|call|>", nullptr, kEnds},          // gpt-oss
    {"<|calls|>", nullptr, kEnds},         // Solar Open
    {"<|flush|>", nullptr, kEnds},         // Solar Open
    {"[EOS]", nullptr, kEnds},             // Kimi K2
    {"<eos>", nullptr, kEndsIfControl},    // Gemma
    {"<|tool_response>", nullptr, kEnds},  // Gemma 4
    {"</s>", nullptr, kEndsIfControl},     // SentencePiece
    {"[e~[", nullptr, kEnds},              // MiniMax M2
    // Fill in the middle.
    {"<|fim_prefix|>", &SpecialIds::fim_pre, kNone},   // Qwen
    {"<fim-prefix>", &SpecialIds::fim_pre, kNone},     //
    {"<fim_prefix>", &SpecialIds::fim_pre, kNone},     // StarCoder, Granite, SmolLM
    {"<｜fim▁begin｜>", &SpecialIds::fim_pre, kNone},  // DeepSeek
    {"<PRE>", &SpecialIds::fim_pre, kNone},            //
    {"▁<PRE>", &SpecialIds::fim_pre, kNone},           // CodeLlama
    {"<|code_prefix|>", &SpecialIds::fim_pre, kNone},  // GLM 4.5
    {"<|prefix|>", &SpecialIds::fim_pre, kNone},       // Falcon H1
    {"<|fim_suffix|>", &SpecialIds::fim_suf, kNone},   //
    {"<fim-suffix>", &SpecialIds::fim_suf, kNone},     //
    {"<fim_suffix>", &SpecialIds::fim_suf, kNone},     //
    {"<｜fim▁hole｜>", &SpecialIds::fim_suf, kNone},   //
    {"<SUF>", &SpecialIds::fim_suf, kNone},            //
    {"▁<SUF>", &SpecialIds::fim_suf, kNone},           //
    {"<|code_suffix|>", &SpecialIds::fim_suf, kNone},  //
    {"<|suffix|>", &SpecialIds::fim_suf, kNone},       //
    {"<|fim_middle|>", &SpecialIds::fim_mid, kNone},   //
    {"<fim-middle>", &SpecialIds::fim_mid, kNone},     //
    {"<fim_middle>", &SpecialIds::fim_mid, kNone},     //
    {"<｜fim▁end｜>", &SpecialIds::fim_mid, kNone},    //
    {"<MID>", &SpecialIds::fim_mid, kNone},            //
    {"▁<MID>", &SpecialIds::fim_mid, kNone},           //
    {"<|code_middle|>", &SpecialIds::fim_mid, kNone},  //
    {"<|middle|>", &SpecialIds::fim_mid, kNone},       //
    // A code model that goes on to padding, another repository or another file is done.
    {"<|fim_pad|>", &SpecialIds::fim_pad, kEnds},     //
    {"<fim-pad>", &SpecialIds::fim_pad, kEnds},       //
    {"<fim_pad>", &SpecialIds::fim_pad, kEnds},       //
    {"<PAD>", &SpecialIds::fim_pad, kEnds},           //
    {"[PAD]", &SpecialIds::fim_pad, kEndsIfControl},  // Kimi K2; also BERT's padding
    {"<|fim_repo|>", &SpecialIds::fim_rep, kEnds},    //
    {"<|repo_name|>", &SpecialIds::fim_rep, kEnds},   // Qwen
    {"<fim-repo>", &SpecialIds::fim_rep, kEnds},      //
    {"<REPO>", &SpecialIds::fim_rep, kEnds},          //
    {"<reponame>", &SpecialIds::fim_rep, kEnds},      // Granite
    {"<|file_sep|>", &SpecialIds::fim_sep, kEnds},    // Qwen
    // gpt-oss writes its channels with them, and the reader of its answers needs them.
    {"<|channel|>", nullptr, kShown},
    {"<|message|>", nullptr, kShown},
    {"<|start|>", nullptr, kShown},
    {"<|constrain|>", nullptr, kShown},
};

}  // namespace

// Immutable, for the life of the program.
std::span<const WellKnownToken> well_known_tokens() {
  return kTokens;
}

}  // namespace quern

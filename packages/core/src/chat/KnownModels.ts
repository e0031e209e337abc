/** The table behind the model registry. */
import type { LoraParametersPerRank, Model } from "./ModelRegistry.ts"

type Row = readonly [
  name: string,
  hiddenSize: number,
  renderers: Model["renderers"],
  lora?: LoraParametersPerRank
]

const lora = (mlp: number, attn: number, unembed: number): LoraParametersPerRank => ({ mlp, attn, unembed })

const loraQwen3 = {
  "4B": lora(1_327_104, 737_280, 154_496),
  "8B": lora(1_769_472, 958_464, 156_032),
  "32B": lora(5_898_240, 2_490_368, 157_056),
  "30B-A3B": lora(14_450_688, 835_584, 153_984),
  "235B-A22B": lora(56_598_528, 3_176_448, 156_032)
}
const loraQwen35 = {
  "4B": lora(1_130_496, 897_024, 250_880),
  "9B": lora(1_572_864, 1_130_496, 252_416),
  "27B": lora(4_325_376, 2_965_504, 253_440),
  "35B-A3B": lora(16_281_600, 1_013_760, 250_368),
  "397B-A17B": lora(96_030_720, 2_841_600, 252_416)
}
const loraLlama = {
  "1B": lora(491_520, 212_992, 130_304),
  "3B": lora(946_176, 573_440, 131_328),
  "8B": lora(1_769_472, 851_968, 132_352),
  "70B": lora(8_847_360, 4_096_000, 136_448)
}
const loraDeepSeek = lora(94_307_328, 2_440_000, 136_448)
const loraKimi = lora(144_583_680, 1_940_288, 171_008)
const loraNemotronNano = lora(11_346_176, 584_832, 133_760)

const qwen3: Model["renderers"] = ["qwen3", "qwen3_disable_thinking"]
const qwen35: Model["renderers"] = ["qwen3_5", "qwen3_5_disable_thinking"]
const nemotron: Model["renderers"] = ["nemotron3", "nemotron3_disable_thinking", "nemotron3_preserve_thinking"]

const chatModels: ReadonlyArray<Row> = [
  ["meta-llama/Llama-3.1-8B-Instruct", 4096, ["llama3"], loraLlama["8B"]],
  ["meta-llama/Llama-3.3-70B-Instruct", 8192, ["llama3"], loraLlama["70B"]],
  ["Qwen/Qwen3-8B", 4096, qwen3, loraQwen3["8B"]],
  ["Qwen/Qwen3-32B", 5120, qwen3, loraQwen3["32B"]],
  ["Qwen/Qwen3-30B-A3B", 2048, qwen3, loraQwen3["30B-A3B"]],
  ["Qwen/Qwen3-4B-Instruct-2507", 2560, ["qwen3_instruct"], loraQwen3["4B"]],
  ["Qwen/Qwen3-30B-A3B-Instruct-2507", 2048, ["qwen3_instruct"], loraQwen3["30B-A3B"]],
  ["Qwen/Qwen3-235B-A22B-Instruct-2507", 4096, ["qwen3_instruct"], loraQwen3["235B-A22B"]],
  ["Qwen/Qwen3-VL-30B-A3B-Instruct", 2048, ["qwen3_vl_instruct"], loraQwen3["30B-A3B"]],
  ["Qwen/Qwen3-VL-235B-A22B-Instruct", 4096, ["qwen3_vl_instruct"], loraQwen3["235B-A22B"]],
  ["Qwen/Qwen3.5-4B", 2560, qwen35, loraQwen35["4B"]],
  ["Qwen/Qwen3.5-9B", 4096, qwen35, loraQwen35["9B"]],
  ["Qwen/Qwen3.5-27B", 5120, qwen35, loraQwen35["27B"]],
  ["Qwen/Qwen3.5-35B-A3B", 2048, qwen35, loraQwen35["35B-A3B"]],
  ["Qwen/Qwen3.5-397B-A17B", 4096, qwen35, loraQwen35["397B-A17B"]],
  ["Qwen/Qwen3.6-27B", 5120, qwen35, loraQwen35["27B"]],
  ["Qwen/Qwen3.6-35B-A3B", 2048, qwen35, loraQwen35["35B-A3B"]],
  [
    "Qwen/Qwen3.8-27B",
    5120,
    ["qwen3_8_xhigh_reasoning", "qwen3_8_disable_thinking", "qwen3_8_medium_reasoning", "qwen3_8_low_reasoning"],
    loraQwen35["27B"]
  ],
  ["deepseek-ai/DeepSeek-V3.1", 7168, ["deepseekv3", "deepseekv3_thinking"], loraDeepSeek],
  [
    "openai/gpt-oss-20b",
    2880,
    ["gpt_oss_no_sysprompt", "gpt_oss_medium_reasoning"],
    lora(6_842_880, 497_664, 203_968)
  ],
  [
    "openai/gpt-oss-120b",
    2880,
    ["gpt_oss_no_sysprompt", "gpt_oss_medium_reasoning"],
    lora(40_124_160, 746_496, 203_968)
  ],
  ["moonshotai/Kimi-K2-Thinking", 7168, ["kimi_k2"], loraKimi],
  ["moonshotai/Kimi-K2.5", 7168, ["kimi_k25", "kimi_k25_disable_thinking"], loraKimi],
  [
    "moonshotai/Kimi-K2.6",
    7168,
    ["kimi_k26", "kimi_k26_disable_thinking", "kimi_k26_preserve_thinking"],
    loraKimi
  ],
  ["nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", 2688, nemotron, loraNemotronNano],
  [
    "nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-BF16",
    4096,
    [...nemotron, "nemotron3_low_thinking"],
    lora(111_349_760, 1_675_264, 135_168)
  ],
  [
    "nvidia/NVIDIA-Nemotron-3-Ultra-550B-A55B-BF16",
    8192,
    [
      "nemotron3_ultra",
      "nemotron3_ultra_disable_thinking",
      "nemotron3_ultra_medium_thinking",
      "nemotron3_ultra_preserve_thinking"
    ],
    lora(254_529_536, 4_134_912, 139_264)
  ],
  [
    "nvidia/NVIDIA-Nemotron-3.5-Lightning-30B-A3B-BF16",
    2688,
    ["nemotron3_ultra", "nemotron3_ultra_disable_thinking", "nemotron3_ultra_preserve_thinking"],
    loraNemotronNano
  ],
  ["thinkingmachines/Inkling", 6144, ["tml_v0"], lora(154_705_920, 3_424_256, 207_168)],
  ["thinkingmachines/Inkling-Small", 4096, ["tml_v0"]]
]

const baseModels: ReadonlyArray<Row> = [
  ["meta-llama/Llama-3.2-1B", 2048, ["role_colon"], loraLlama["1B"]],
  ["meta-llama/Llama-3.2-3B", 3072, ["role_colon"], loraLlama["3B"]],
  ["meta-llama/Llama-3.1-8B", 4096, ["role_colon"], loraLlama["8B"]],
  ["meta-llama/Llama-3.1-70B", 8192, ["role_colon"], loraLlama["70B"]],
  ["Qwen/Qwen3-8B-Base", 4096, ["role_colon"], loraQwen3["8B"]],
  ["Qwen/Qwen3-30B-A3B-Base", 2048, ["role_colon"], loraQwen3["30B-A3B"]],
  ["Qwen/Qwen3.5-9B-Base", 4096, ["role_colon"], loraQwen35["9B"]],
  ["Qwen/Qwen3.5-35B-A3B-Base", 2048, ["role_colon"], loraQwen35["35B-A3B"]],
  ["deepseek-ai/DeepSeek-V3.1-Base", 7168, ["role_colon"], loraDeepSeek]
]

/** Every Llama 3 shares one tokenizer, and this copy needs no licence to download. */
const tokenizerOf = (name: string) =>
  name.startsWith("meta-llama/Llama-3") ? "thinkingmachineslabinc/meta-llama-3-instruct-tokenizer" : name

const toModel = (isChat: boolean) => ([name, hiddenSize, renderers, loraParametersPerRank]: Row): Model => ({
  name,
  organization: name.slice(0, name.indexOf("/")),
  isChat,
  hiddenSize,
  renderers,
  tokenizer: tokenizerOf(name),
  ...(loraParametersPerRank === undefined ? {} : { loraParametersPerRank })
})

const embedded = (name: string, hiddenSize: number): Model => ({
  name,
  organization: "effect-rl",
  isChat: true,
  hiddenSize,
  renderers: ["qwen3_instruct"],
  tokenizer: name,
  loraLearningRate: 1e-3
})

/** The models of the hosted service and the presets of the embedded engine. */
export const models: ReadonlyArray<Model> = [
  ...chatModels.map(toModel(true)),
  ...baseModels.map(toModel(false)),
  embedded("effect-rl/tiny-64", 64),
  embedded("effect-rl/tiny-128", 128)
]

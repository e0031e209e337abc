/** The table of the model registry, with the attributes that tinker-cookbook 0.6.1 publishes. */
import type { LoraParametersPerRank, Model } from "./ModelRegistry.ts"
import * as PublishedPrices from "./PublishedPrices.ts"

type Renderers = Model["renderers"]

type Row = readonly [
  name: string,
  version: string,
  size: string,
  hiddenSize: number,
  renderers: Renderers,
  lora: readonly [mlp: number, attn: number, unembed: number],
  more?: Pick<Model, "seesImages" | "hearsAudio" | "contextLength">
]

/** All Llama 3 models share one tokenizer. This copy can be downloaded without accepting a licence. */
const tokenizerOf = (name: string) =>
  name.startsWith("meta-llama/Llama-3") ? "thinkingmachineslabinc/meta-llama-3-instruct-tokenizer" : name

const toModel = (organization: string, [name, version, size, hiddenSize, renderers, lora, more]: Row): Model => {
  const [mlp, attn, unembed] = lora
  const loraParametersPerRank: LoraParametersPerRank = { mlp, attn, unembed }
  const fullName = `${organization}/${name}`
  const price = PublishedPrices.byModel.get(fullName)
  return {
    name: fullName,
    organization,
    version,
    size,
    isChat: renderers !== roleColon,
    hiddenSize,
    renderers,
    tokenizer: tokenizerOf(fullName),
    loraParametersPerRank,
    ...(price === undefined ? {} : { price }),
    ...more
  }
}

const rows = (organization: string, table: ReadonlyArray<Row>): ReadonlyArray<Model> =>
  table.map((row) => toModel(organization, row))

const llama3: Renderers = ["llama3"]
const roleColon: Renderers = ["role_colon"]
const qwen3Vl: Renderers = ["qwen3_vl_instruct"]
const qwen3: Renderers = ["qwen3", "qwen3_disable_thinking"]
const qwen3Instruct: Renderers = ["qwen3_instruct"]
const qwen35: Renderers = ["qwen3_5", "qwen3_5_disable_thinking", "qwen3_5_preserve_thinking"]
const qwen38: Renderers = [
  "qwen3_8_xhigh_reasoning",
  "qwen3_8_disable_thinking",
  "qwen3_8_medium_reasoning",
  "qwen3_8_low_reasoning"
]
const deepseekv3: Renderers = ["deepseekv3", "deepseekv3_thinking"]
const deepseekv41: Renderers = [
  "deepseekv4_1",
  "deepseekv4_1_low_reasoning",
  "deepseekv4_1_max_reasoning",
  "deepseekv4_1_disable_thinking",
  "deepseekv4_1_preserve_thinking"
]
const gptOss: Renderers = ["gpt_oss_no_sysprompt", "gpt_oss_medium_reasoning"]
const kimiK2: Renderers = ["kimi_k2"]
const kimiK25: Renderers = ["kimi_k25", "kimi_k25_disable_thinking"]
const kimiK26: Renderers = ["kimi_k26", "kimi_k26_disable_thinking", "kimi_k26_preserve_thinking"]
const kimiK31Pro: Renderers = [
  "kimi_k31_pro_max_reasoning",
  "kimi_k31_pro_high_reasoning",
  "kimi_k31_pro_low_reasoning",
  "kimi_k31_pro_disable_thinking",
  "kimi_k31_pro_no_reasoning_effort"
]
const glm53: Renderers = ["glm5_3_max_reasoning", "glm5_3_low_reasoning", "glm5_3_high_reasoning"]
const nemotron3: Renderers = ["nemotron3", "nemotron3_disable_thinking", "nemotron3_preserve_thinking"]
const nemotron3Super: Renderers = [
  "nemotron3",
  "nemotron3_disable_thinking",
  "nemotron3_preserve_thinking",
  "nemotron3_low_thinking"
]
const nemotron3Ultra: Renderers = [
  "nemotron3_ultra",
  "nemotron3_ultra_disable_thinking",
  "nemotron3_ultra_medium_thinking",
  "nemotron3_ultra_preserve_thinking"
]
const nemotron3Lightning: Renderers = [
  "nemotron3_ultra",
  "nemotron3_ultra_disable_thinking",
  "nemotron3_ultra_preserve_thinking"
]
const tmlV0: Renderers = ["tml_v0"]

const metaLlama = rows("meta-llama", [
  ["Llama-3.1-8B-Instruct", "3.1", "8B", 4096, llama3, [1_769_472, 851_968, 132_352]],
  ["Llama-3.2-1B", "3.2", "1B", 2048, roleColon, [491_520, 212_992, 130_304]],
  ["Llama-3.2-3B", "3.2", "3B", 3072, roleColon, [946_176, 573_440, 131_328]],
  ["Llama-3.1-8B", "3.1", "8B", 4096, roleColon, [1_769_472, 851_968, 132_352]],
  ["Llama-3.1-70B", "3.1", "70B", 8192, roleColon, [8_847_360, 4_096_000, 136_448]],
  ["Llama-3.3-70B-Instruct", "3.3", "70B", 8192, llama3, [8_847_360, 4_096_000, 136_448]]
])

const qwen = rows("Qwen", [
  ["Qwen3-VL-30B-A3B-Instruct", "3", "30B-A3B", 2048, qwen3Vl, [14_450_688, 835_584, 153_984], { seesImages: true }],
  ["Qwen3-VL-235B-A22B-Instruct", "3", "235B-A22B", 4096, qwen3Vl, [56_598_528, 3_176_448, 156_032], {
    seesImages: true
  }],
  ["Qwen3-8B-Base", "3", "8B", 4096, roleColon, [1_769_472, 958_464, 156_032]],
  ["Qwen3-30B-A3B-Base", "3", "30B-A3B", 2048, roleColon, [14_450_688, 835_584, 153_984]],
  ["Qwen3-8B", "3", "8B", 4096, qwen3, [1_769_472, 958_464, 156_032], { contextLength: 32_768 }],
  ["Qwen3-32B", "3", "32B", 5120, qwen3, [5_898_240, 2_490_368, 157_056]],
  ["Qwen3-30B-A3B", "3", "30B-A3B", 2048, qwen3, [14_450_688, 835_584, 153_984]],
  ["Qwen3-4B-Instruct-2507", "3", "4B", 2560, qwen3Instruct, [1_327_104, 737_280, 154_496]],
  ["Qwen3-30B-A3B-Instruct-2507", "3", "30B-A3B", 2048, qwen3Instruct, [14_450_688, 835_584, 153_984]],
  ["Qwen3-235B-A22B-Instruct-2507", "3", "235B-A22B", 4096, qwen3Instruct, [56_598_528, 3_176_448, 156_032]],
  ["Qwen3.5-4B", "3.5", "4B", 2560, qwen35, [1_130_496, 897_024, 250_880], { seesImages: true, contextLength: 65_536 }],
  ["Qwen3.5-9B", "3.5", "9B", 4096, qwen35, [1_572_864, 1_130_496, 252_416], {
    seesImages: true,
    contextLength: 65_536
  }],
  ["Qwen3.5-9B-Base", "3.5", "9B", 4096, roleColon, [1_572_864, 1_130_496, 252_416], {
    seesImages: true,
    contextLength: 65_536
  }],
  ["Qwen3.5-27B", "3.5", "27B", 5120, qwen35, [4_325_376, 2_965_504, 253_440], { seesImages: true }],
  ["Qwen3.5-35B-A3B", "3.5", "35B-A3B", 2048, qwen35, [16_281_600, 1_013_760, 250_368], { seesImages: true }],
  ["Qwen3.5-35B-A3B-Base", "3.5", "35B-A3B", 2048, roleColon, [16_281_600, 1_013_760, 250_368], {
    seesImages: true,
    contextLength: 65_536
  }],
  ["Qwen3.5-397B-A17B", "3.5", "397B-A17B", 4096, qwen35, [96_030_720, 2_841_600, 252_416], {
    seesImages: true,
    contextLength: 65_536
  }],
  ["Qwen3.6-27B", "3.6", "27B", 5120, qwen35, [4_325_376, 2_965_504, 253_440], {
    seesImages: true,
    contextLength: 65_536
  }],
  ["Qwen3.6-35B-A3B", "3.6", "35B-A3B", 2048, qwen35, [16_281_600, 1_013_760, 250_368], {
    seesImages: true,
    contextLength: 65_536
  }],
  ["Qwen3.8-27B", "3.8", "27B", 5120, qwen38, [4_325_376, 2_965_504, 253_440], {
    seesImages: true,
    contextLength: 65_536
  }]
])

const deepseekAi = rows("deepseek-ai", [
  ["DeepSeek-V3.1", "3", "671B-A37B", 7168, deepseekv3, [94_307_328, 2_440_000, 136_448], { contextLength: 32_768 }],
  ["DeepSeek-V3.1-Base", "3", "671B-A37B", 7168, roleColon, [94_307_328, 2_440_000, 136_448]],
  ["DeepSeek-V4.1-Flash", "4.1", "552B-A16B", 5120, deepseekv41, [107_673_600, 1_013_760, 134_400]],
  ["DeepSeek-V4.1-Flash-1017", "4.1", "552B-A16B", 5120, deepseekv41, [107_673_600, 1_013_760, 134_400]]
])

const openai = rows("openai", [
  ["gpt-oss-20b", "1", "21B-A3.6B", 2880, gptOss, [6_842_880, 497_664, 203_968], { contextLength: 32_768 }],
  ["gpt-oss-120b", "1", "117B-A5.1B", 2880, gptOss, [40_124_160, 746_496, 203_968], { contextLength: 32_768 }]
])

const moonshotai = rows("moonshotai", [
  ["Kimi-K2-Thinking", "K2", "1T-A32B", 7168, kimiK2, [144_583_680, 1_940_288, 171_008]],
  ["Kimi-K2.5", "K2.5", "1T-A32B", 7168, kimiK25, [144_583_680, 1_940_288, 171_008], { seesImages: true }],
  ["Kimi-K2.6", "K2.6", "1T-A32B", 7168, kimiK26, [144_583_680, 1_940_288, 171_008], {
    seesImages: true,
    contextLength: 32_768
  }],
  ["Kimi-K3.1-Pro", "K3.1", "2.8T-A104B", 7168, kimiK31Pro, [766_457_856, 8_040_960, 171_008], { seesImages: true }]
])

const zaiOrg = rows("zai-org", [
  ["GLM-5.3", "5.3", "744B-A40B", 6144, glm53, [121_356_288, 2_920_320, 161_024]],
  ["GLM-5.3-Flash", "5.3", "320B-A18B", 4096, glm53, [75_755_520, 2_009_088, 158_976]]
])

const nvidia = rows("nvidia", [
  ["NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", "3", "30B-A3B", 2688, nemotron3, [11_346_176, 584_832, 133_760], {
    contextLength: 65_536
  }],
  [
    "NVIDIA-Nemotron-3-Super-120B-A12B-BF16",
    "3",
    "120B-A12B",
    4096,
    nemotron3Super,
    [111_349_760, 1_675_264, 135_168],
    { contextLength: 65_536 }
  ],
  [
    "NVIDIA-Nemotron-3-Ultra-550B-A55B-BF16",
    "3",
    "550B-A55B",
    8192,
    nemotron3Ultra,
    [254_529_536, 4_134_912, 139_264],
    { contextLength: 65_536 }
  ],
  ["NVIDIA-Nemotron-3.5-Lightning-30B-A3B-BF16", "3.5", "30B-A3B", 2688, nemotron3Lightning, [
    11_346_176,
    584_832,
    133_760
  ], { contextLength: 65_536 }],
  ["NVIDIA-Nemotron-3.5-Super-VL-120B-A12B-BF16", "3.5", "120B-A12B", 4096, nemotron3Ultra, [
    111_349_760,
    1_675_264,
    135_168
  ], { seesImages: true, contextLength: 65_536 }]
])

const thinkingmachines = rows("thinkingmachines", [
  ["Inkling", "1", "975B-A41B", 6144, tmlV0, [154_705_920, 3_424_256, 207_168], {
    seesImages: true,
    hearsAudio: true,
    contextLength: 65_536
  }],
  ["Inkling-Small", "1", "276B-A12B", 4096, tmlV0, [64_503_808, 1_311_744, 205_120], {
    seesImages: true,
    hearsAudio: true,
    contextLength: 65_536
  }],
  ["Inkling-2-Small", "2", "594B-A17B", 4608, tmlV0, [128_065_536, 2_347_008, 205_632], {
    seesImages: true,
    contextLength: 65_536
  }]
])

const embedded = (name: string, hiddenSize: number): Model => ({
  name: `effect-rl/${name}`,
  organization: "effect-rl",
  version: "1",
  size: name,
  isChat: true,
  hiddenSize,
  renderers: qwen3Instruct,
  tokenizer: `effect-rl/${name}`,
  loraLearningRate: 1e-3
})

/** The hosted service's models and the embedded engine's presets. */
export const models: ReadonlyArray<Model> = [
  ...metaLlama,
  ...qwen,
  ...deepseekAi,
  ...openai,
  ...moonshotai,
  ...zaiOrg,
  ...nvidia,
  ...thinkingmachines,
  embedded("tiny-64", 64),
  embedded("tiny-128", 128),
  embedded("tiny-tasks", 64),
  embedded("tiny-code", 64),
  embedded("tiny-tools", 128),
  embedded("tiny-questions", 64)
]

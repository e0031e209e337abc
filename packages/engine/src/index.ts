/** The embedded backend and the models that come with it. Stable. */

/** The embedded backend: LoRA training and sampling of small language models inside the current process, on the CPU. */
export * as Engine from "./Engine.ts"
/** Exports trained models as GGUF files for llama.cpp, merged or as a base and an adapter. */
export * as GgufExport from "./GgufExport.ts"
/** Merges an adapter into its base model and writes a folder that other tools load without adapter support. */
export * as Merge from "./Merge.ts"
/** The models that ship with this package. They are tiny: further training takes a minute or two. */
export * as Preset from "./Preset.ts"
/** SmolLM2-135M-Instruct, a small language model that can be installed with `pip` as part of a Python package. */
export * as SmolLm2 from "./SmolLm2.ts"

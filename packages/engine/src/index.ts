/** The embedded backend, and the models that come with it. Stable. */

/** The embedded backend: LoRA training and sampling of small language models in this process, on the CPU. */
export * as Engine from "./Engine.ts"
/** Trained models as files of llama.cpp, merged or as a base and its adapter. */
export * as GgufExport from "./GgufExport.ts"
/** A model and an adapter as one model: a folder that other tools load without knowing of adapters. */
export * as Merge from "./Merge.ts"
/** The models that ship with this package: tiny, made to be trained further within a minute or two. */
export * as Preset from "./Preset.ts"
/** SmolLM2-135M-Instruct, a small language model, as a Python package carries it: `pip` alone fetches it. */
export * as SmolLm2 from "./SmolLm2.ts"

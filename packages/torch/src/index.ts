/** A backend on transformers and PEFT: LoRA training of language models on a GPU of your own, by a Python process beside yours. Advanced. */

/** The backend: LoRA training and sampling of a language model by PyTorch, in one Python process that is started here. */
export * as TorchBackend from "./TorchBackend.ts"

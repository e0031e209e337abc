/** A backend on PyTorch, transformers and PEFT: LoRA training on your own GPU, in a separate Python process. Advanced. */

/** The backend: LoRA training and sampling of a language model with PyTorch, in a Python process that the layer starts. */
export * as TorchBackend from "./TorchBackend.ts"

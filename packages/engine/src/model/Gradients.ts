/** Addresses of the gradients that a backward pass adds to. */
import type { Address } from "../numerics/Memory.ts"
import type { PackedAdapter } from "./Adapter.ts"
import type { LinearName } from "./ModelConfig.ts"

/** Addresses of the gradients of all base weights, shaped as Hugging Face shapes the weights. */
export interface BaseGradients {
  readonly embedding: Address
  /** The embedding's when it is tied. */
  readonly head: Address
  readonly finalNorm: Address
  readonly layers: ReadonlyArray<
    & Readonly<Record<LinearName, Address>>
    & Readonly<Record<"inputNorm" | "feedForwardNorm" | "queryNorm" | "keyNorm", Address>>
  >
}

/** The gradients of an adapter in training, or of the base in pretraining. */
export interface Gradients {
  /** `block` has the adapter's parameter layout. */
  readonly adapter?: { readonly packed: PackedAdapter; readonly block: Address }
  readonly base?: BaseGradients
}

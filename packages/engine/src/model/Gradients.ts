/** Addresses at which a backward pass accumulates gradients. */
import type { Address } from "../numerics/Memory.ts"
import type { PackedAdapter } from "./Adapter.ts"
import type { LinearName } from "./ModelConfig.ts"

/** Addresses of the gradients of all base weights, in Hugging Face shapes. */
export interface BaseGradients {
  readonly embedding: Address
  /** The address of the embedding's gradient if the head is tied to the embedding. */
  readonly head: Address
  readonly finalNorm: Address
  readonly layers: ReadonlyArray<
    & Readonly<Record<LinearName, Address>>
    & Readonly<Record<"inputNorm" | "feedForwardNorm" | "queryNorm" | "keyNorm", Address>>
  >
}

/** The gradients to accumulate: an adapter's in training, the base model's in pretraining. */
export interface Gradients {
  /** `block` has the adapter's parameter layout. */
  readonly adapter?: { readonly packed: PackedAdapter; readonly block: Address }
  readonly base?: BaseGradients
}

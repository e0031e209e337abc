/** Refusals by the hosted service that this server does not need, with their sources; see `Strictness`. */
import type { Rule } from "./Strictness.ts"

const checkpointsPage = "tinker-docs.thinkingmachines.ai/tinker/howto/checkpoints"

/** A state can be loaded only into a new model. */
export const loadedLate = (sequence: unknown): Rule => ({
  detail: `load_weights has seq_id ${String(sequence)}, expected 1: make a new model from the state`,
  source: "tinker 0.38.0, types/load_weights_request.py: a load comes right after create_model, with seq_id 1"
})

/** Checkpoints must be kept for at least an hour. */
export const shortLived = (seconds: unknown): Rule => ({
  detail: `ttl_seconds is ${String(seconds)}, expected 3600 to 315360000`,
  source: "tinker 0.38.0, types/save_weights_request.py: 1 hour (3600) to 10 years"
})

/** Sampler weights have no optimizer state to continue training from. */
export const trainedFromSampler = (path: string): Rule => ({
  detail: `path is "${path}", expected a state of save_state to train from`,
  source: `${checkpointsPage}: save_weights_for_sampler keeps only the weights, for sampling`
})

/** Sampling requires sampler weights. The source page says so, but an example of the SDK samples from a training state. */
export const sampledFromState = (path: string): Rule => ({
  detail: `model_path is "${path}", expected weights of save_weights_for_sampler to sample from`,
  source: undefined
})

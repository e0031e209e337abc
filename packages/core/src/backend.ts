/** The port to what samples and trains: its requests, its answers and the rules that every backend keeps. Advanced. */

/** What a model reads: text tokens and images in order. */
export * as ModelInput from "./model/ModelInput.ts"
/** One training example: what the model reads and what the loss reads at each of its positions. */
export * as Datum from "./model/Datum.ts"
/** The parameters of an optimizer step, and the settings that they come from. */
export * as AdamParams from "./model/AdamParams.ts"
/** Requests to a sampler and its answers. */
export * as Sampling from "./model/Sampling.ts"
/** The JSON Schemas to which a sampler can hold what it samples, exactly. */
export * as Grammar from "./model/Grammar.ts"
/** What a backend can do for one model. */
export * as Capabilities from "./backend/Capabilities.ts"
/** Samples from fixed weights. */
export * as SamplingClient from "./backend/SamplingClient.ts"
/** Trains one LoRA adapter. */
export * as TrainingClient from "./backend/TrainingClient.ts"
/** A request that the backend has accepted and is working on. */
export * as Pending from "./backend/Pending.ts"
/** The calls of one training client, run one after another in the order of submission, as `Pending` promises. */
export * as RequestQueue from "./backend/RequestQueue.ts"
/** Rules that a request must keep on every backend: each names the field, its value and what is expected. */
export * as RequestRules from "./backend/RequestRules.ts"
/** A response that is sampled in pieces, so that it can be read before it is complete. */
export * as SampleStream from "./backend/SampleStream.ts"
/** What the seeds of a backend promise, found out by sampling. */
export * as SeedProbe from "./backend/SeedProbe.ts"
/** The value and the slopes of each named loss, for a backend that computes them itself. */
export * as LossValue from "./backend/LossValue.ts"
/** A loss computed by the caller, as a weighted cross entropy whose gradient is the same. */
export * as CustomLoss from "./backend/CustomLoss.ts"
/** Trains with a loss graph: by the backend itself where it can, otherwise in two passes with the gradient computed here. */
export * as LossGraphPass from "./backend/LossGraphPass.ts"
/** How a run counts requests to models beside the weights being trained: reference policies, teachers and judges. */
export * as Metering from "./backend/Metering.ts"
/** The weights being trained, as training programs and evaluators see them. */
export * as Weights from "./backend/Weights.ts"
/** Tokens used: prefilled for prompts, sampled, and trained on. */
export * as Usage from "./records/Usage.ts"
/** An adaptive limit on concurrent sampling requests, shared by rollouts, evaluations and judges. */
export * as AdaptiveLimiter from "./backend/limiter/AdaptiveLimiter.ts"

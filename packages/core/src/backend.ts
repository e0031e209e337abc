/** The port to the backends that sample and train: its requests, its answers and the rules that every backend keeps. Advanced. */

/** What a model reads: text tokens and images in order. */
export * as ModelInput from "./model/ModelInput.ts"
/** One training example: the model's input, and the loss inputs for each position. */
export * as Datum from "./model/Datum.ts"
/** The parameters of an optimizer step, and the settings from which they are derived. */
export * as AdamParams from "./model/AdamParams.ts"
/** Requests to a sampler and its answers. */
export * as Sampling from "./model/Sampling.ts"
/** The subset of JSON Schema that a sampler can enforce exactly on a response. */
export * as Grammar from "./model/Grammar.ts"
/** What a backend supports for one model. */
export * as Capabilities from "./backend/Capabilities.ts"
/** Samples from fixed weights. */
export * as SamplingClient from "./backend/SamplingClient.ts"
/** Trains one LoRA adapter. */
export * as TrainingClient from "./backend/TrainingClient.ts"
/** A request that the backend has accepted and is working on. */
export * as Pending from "./backend/Pending.ts"
/** The calls of one training client as `Pending` promises, run one at a time in submission order. */
export * as RequestQueue from "./backend/RequestQueue.ts"
/** Rules that requests must satisfy on every backend; a violation names the field, its value and what was expected. */
export * as RequestRules from "./backend/RequestRules.ts"
/** A response that arrives in pieces while it is sampled. */
export * as SampleStream from "./backend/SampleStream.ts"
/** Finds out by sampling how far a backend's seeds make samples reproducible. */
export * as SeedProbe from "./backend/SeedProbe.ts"
/** Computes each named loss and its derivatives, for a backend that computes losses itself. */
export * as LossValue from "./backend/LossValue.ts"
/** A loss computed by the caller, turned into a weighted cross entropy with the same gradient. */
export * as CustomLoss from "./backend/CustomLoss.ts"
/** Trains with a loss graph: in the backend if it supports graphs, otherwise in two passes with the gradient computed locally. */
export * as LossGraphPass from "./backend/LossGraphPass.ts"
/** How a run counts its requests to models other than the one being trained: reference policies, teachers and judges. */
export * as Metering from "./backend/Metering.ts"
/** The weights being trained, as seen by training programs and evaluators. */
export * as Weights from "./backend/Weights.ts"
/** Tokens used: prefilled for prompts, sampled, and trained on. */
export * as Usage from "./records/Usage.ts"
/** An adaptive limit on concurrent sampling requests, shared by rollouts, evaluations and judges. */
export * as AdaptiveLimiter from "./backend/limiter/AdaptiveLimiter.ts"

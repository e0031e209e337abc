export * as AdamParams from "./model/AdamParams.ts"
export * as Datum from "./model/Datum.ts"
export * as Loss from "./model/Loss.ts"
export * as ModelInput from "./model/ModelInput.ts"
export * as Sampling from "./model/Sampling.ts"

export * as Capabilities from "./backend/Capabilities.ts"
export * as Pending from "./backend/Pending.ts"
export * as SamplingClient from "./backend/SamplingClient.ts"
export * as Tinker from "./backend/Tinker.ts"
export * as TinkerError from "./backend/TinkerError.ts"
export * as TrainingClient from "./backend/TrainingClient.ts"

export * as ChatModel from "./chat/ChatModel.ts"
export * as Message from "./chat/Message.ts"
export * as Renderer from "./chat/Renderer.ts"
export * as Tokenizer from "./chat/Tokenizer.ts"

export * as Key from "./record/Key.ts"
export * as Metric from "./record/Metric.ts"
export * as RunStore from "./record/RunStore.ts"
export * as Seed from "./record/Seed.ts"

export * as Policy from "./policy/Policy.ts"

export * as Env from "./env/Env.ts"
export * as EnvGroupBuilder from "./env/EnvGroupBuilder.ts"
export * as StopReason from "./env/StopReason.ts"
export * as Trajectory from "./env/Trajectory.ts"

export * as RLDataset from "./data/RLDataset.ts"

export * as FailurePolicy from "./rollout/FailurePolicy.ts"
export * as GroupResult from "./rollout/GroupResult.ts"
export * as Rollout from "./rollout/Rollout.ts"
export * as RolloutError from "./rollout/RolloutError.ts"

export * as Advantage from "./learn/Advantage.ts"
export * as Signal from "./learn/Signal.ts"
export * as TrainingData from "./learn/TrainingData.ts"

export * as StepMetrics from "./train/StepMetrics.ts"

export * as Evaluator from "./evaluate/Evaluator.ts"
export * as Proportion from "./evaluate/Proportion.ts"

export * as Train from "./train/Train.ts"
export * as TrainError from "./train/TrainError.ts"

/** Values that the examples in docstrings take as given. */
import type {
  ChatModel,
  Env,
  EnvGroupBuilder,
  Evaluator,
  FunctionTool,
  Message,
  MessagePolicy,
  Policy,
  Preferences,
  ProblemEnv,
  RLDataset,
  RunRecord,
  RunStore,
  SupervisedDataset
} from "@effect-rl/core"
import type { Capabilities, Datum, ModelInput, SamplingClient, TrainingClient } from "@effect-rl/core/backend"
import type { Game, Trajectory } from "@effect-rl/core/environments"
import type { LossGraph } from "@effect-rl/core/losses"
import type { GroupResult, Program, RolloutTask } from "@effect-rl/core/program"
import type { Renderer, Tokenizer } from "@effect-rl/core/renderers"
import type { NonEmptyReadonlyArray } from "effect/Array"

export declare const builder: EnvGroupBuilder.EnvGroupBuilder
export declare const capabilities: Capabilities.Capabilities
export declare const client: SamplingClient.SamplingClient
export declare const conversations: ReadonlyArray<ReadonlyArray<Message.Message>>
export declare const data: NonEmptyReadonlyArray<Datum.Datum<"PolicyTokens">>
export declare const dataset: RLDataset.RLDataset
export declare const env: Env.Env
export declare const evaluator: Evaluator.Evaluator
export declare const examples: SupervisedDataset.SupervisedDataset
export declare const game: Game.Game<number>
export declare const graphData: NonEmptyReadonlyArray<TrainingClient.GraphDatum>
export declare const group: GroupResult.Completed
export declare const judge: MessagePolicy.MessagePolicy
export declare const logprobs: ReadonlyArray<Float32Array>
export declare const lossGraph: LossGraph.LossGraph
export declare const messages: ReadonlyArray<Message.Message>
export declare const model: ChatModel.ChatModel
export declare const pairs: Preferences.Preferences
export declare const policy: Policy.Policy
export declare const preferences: ReadonlyArray<Preferences.Preference>
export declare const problemEnv: ProblemEnv.ProblemEnv
export declare const program: Program.Program<number>
export declare const prompt: ModelInput.ModelInput
export declare const reader: RunStore.RunReader
export declare const recordsOfA: ReadonlyArray<RunRecord.RunRecord>
export declare const recordsOfB: ReadonlyArray<RunRecord.RunRecord>
export declare const renderer: Renderer.Renderer
export declare const rows: ReadonlyArray<readonly [number, number]>
export declare const task: RolloutTask.Portable<never>
export declare const tokenizer: Tokenizer.Tokenizer
export declare const tool: FunctionTool.FunctionTool
export declare const training: TrainingClient.TrainingClient
export declare const weightedData: NonEmptyReadonlyArray<Datum.Datum<"WeightedTokens">>
export declare const trajectory: Trajectory.Trajectory

/** Building blocks of training programs: a new algorithm, another rollout executor, spending limits. Advanced. */

/** Runs a training program: opens or resumes its records, iterates, evaluates and saves checkpoints. */
export * as Run from "./run/Run.ts"
/** A training algorithm as a value: how it computes its updates from the current weights. */
export * as Program from "./run/Program.ts"
/** One forward and backward pass of an update. */
export * as Pass from "./run/Pass.ts"
/** Options common to all runs, whatever their program. */
export * as RunOptions from "./run/RunOptions.ts"
/** Why a stored run cannot be resumed. */
export * as ResumeError from "./run/ResumeError.ts"
/** Limits on a run's spending. The run warns at a fraction of each limit, by default 80 %, and stops before it might exceed the limit. */
export * as Caps from "./run/spending/Caps.ts"
/** Token prices by model. */
export * as Prices from "./run/spending/Prices.ts"
/** The learning signal of groups: whether their rewards can be compared. */
export * as Signal from "./learn/Signal.ts"
/** The credit rules that can be selected by name, with their options and constructors. */
export * as NamedCredit from "./learn/NamedCredit.ts"
/** Training data: datums built from the trajectories of groups. */
export * as TrainingData from "./learn/TrainingData.ts"
/** Distillation targets: the teacher's most likely tokens at each position. */
export * as TopK from "./learn/TopK.ts"
/** A training datum as JSON that preserves every bit of its arrays, so credit can store it and train on it again later. */
export * as StoredDatum from "./learn/StoredDatum.ts"
/** The sizes of a dataset's batches and groups, as settings of recipes. */
export * as BatchSettings from "./data/BatchSettings.ts"
/** Sampling settings: the length of a response, and the distribution of its tokens. */
export * as SamplingSettings from "./policy/SamplingSettings.ts"
/** Options of a reinforcement learning run. */
export * as RlOptions from "./rl/RlOptions.ts"
/** How the tokens of an update are weighted relative to each other. */
export * as Aggregation from "./rl/Aggregation.ts"
/** Dynamic sampling: an iteration keeps sampling groups beyond its batch until enough of them are informative. */
export * as DynamicSampling from "./rl/DynamicSampling.ts"
/** Stops a run if a health metric leaves its healthy range. */
export * as HealthWatch from "./rl/HealthWatch.ts"
/** The result of rolling out a group. */
export * as GroupResult from "./rollout/GroupResult.ts"
/** Callbacks at fixed moments of an episode, for any environment. */
export * as Hooks from "./rollout/Hooks.ts"
/** Where groups are rolled out: in this process by default, or in threads or other processes if a Layer provides an executor for them. */
export * as Executor from "./rollout/Executor.ts"
/** Names the program a group comes from, so a worker with the same program can find the group in its dataset or test sets. */
export * as GroupSource from "./rollout/GroupSource.ts"
/** Groups that can be built in another process: a task name and a payload instead of a closure. */
export * as RolloutTask from "./rollout/RolloutTask.ts"
/** The rollout tasks that a worker knows, by name. */
export * as TaskRegistry from "./rollout/TaskRegistry.ts"
/** Rollout failures other than the errors of the environment, the policy and the hooks. */
export * as RolloutError from "./rollout/RolloutError.ts"
/** Options of a supervised run. */
export * as SupervisedOptions from "./supervised/SupervisedOptions.ts"
/** Supervised examples as datums for cross entropy. */
export * as WeightedDatum from "./supervised/WeightedDatum.ts"
/** The negative log-likelihood of target tokens. */
export * as Nll from "./supervised/Nll.ts"
/** Bits per byte of the target tokens: a likelihood that is comparable across tokenizers. */
export * as BitsPerByte from "./supervised/BitsPerByte.ts"
/** Losses on pairs of a chosen and a rejected answer. */
export * as PairLoss from "./preference/PairLoss.ts"
/** Options of a DPO run. */
export * as DpoOptions from "./preference/DpoOptions.ts"
/** Reflective optimisation of a task's instruction instead of weights. */
export * as Prompts from "./prompts/Prompts.ts"
/** Options of a run that optimises instructions. */
export * as PromptsOptions from "./prompts/PromptsOptions.ts"
/** The instructions that a run has evaluated, and their scores by problem. */
export * as Pool from "./prompts/Pool.ts"
/** The known name closest to a mistyped one. */
export * as Suggestion from "./settings/Suggestion.ts"
/** The error of an iteration that dropped more members than allowed. */
export * as TooManyDropped from "./rl/TooManyDropped.ts"

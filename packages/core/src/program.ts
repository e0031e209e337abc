/** Parts of training programs: a new algorithm, another executor of rollouts, limits on spending. Advanced. */

/** Runs of training programs. */
export * as Run from "./run/Run.ts"
/** A training algorithm as a value: how it makes its updates from the current weights. */
export * as Program from "./run/Program.ts"
/** One forward and backward pass of an update. */
export * as Pass from "./run/Pass.ts"
/** Options of every run, whatever its program. */
export * as RunOptions from "./run/RunOptions.ts"
/** Why a stored run cannot be resumed. */
export * as ResumeError from "./run/ResumeError.ts"
/** Limits on what a run may spend: it warns once a share of one is spent, and ends before it might exceed one. */
export * as Caps from "./run/spending/Caps.ts"
/** Prices of tokens, by model. */
export * as Prices from "./run/spending/Prices.ts"
/** The signal of groups: whether their rewards say which tokens were better. */
export * as Signal from "./learn/Signal.ts"
/** The rules of credit that a name chooses: one table of their options and how each is made. */
export * as NamedCredit from "./learn/NamedCredit.ts"
/** Training data: datums made of the trajectories of groups. */
export * as TrainingData from "./learn/TrainingData.ts"
/** The teacher's most likely tokens as targets. */
export * as TopK from "./learn/TopK.ts"
/** A training datum as JSON, every bit of its arrays kept: what a credit remembers to train on it once more. */
export * as StoredDatum from "./learn/StoredDatum.ts"
/** Settings of sampling: the length of a response, and the distribution of its tokens. */
export * as SamplingSettings from "./policy/SamplingSettings.ts"
/** Options of a reinforcement learning run. */
export * as RlOptions from "./rl/RlOptions.ts"
/** How the tokens of an update are weighed against each other. */
export * as Aggregation from "./rl/Aggregation.ts"
/** Dynamic sampling: an iteration samples more groups than its batch has until enough of them are informative. */
export * as DynamicSampling from "./rl/DynamicSampling.ts"
/** Ends a run where a metric of its health leaves its healthy range. */
export * as HealthWatch from "./rl/HealthWatch.ts"
/** The result of rolling out a group. */
export * as GroupResult from "./rollout/GroupResult.ts"
/** A caller's functions at given moments of an episode, for any environment. */
export * as Hooks from "./rollout/Hooks.ts"
/** Where groups are rolled out: in this process unless a Layer provides an executor, which sends them to threads or other processes. */
export * as Executor from "./rollout/Executor.ts"
/** The program that groups come from, for executors: a worker that has the same program finds them again. */
export * as GroupSource from "./rollout/GroupSource.ts"
/** Groups that can be built in another process: a name and a payload in place of a closure. */
export * as RolloutTask from "./rollout/RolloutTask.ts"
/** The tasks that a worker can roll out. */
export * as TaskRegistry from "./rollout/TaskRegistry.ts"
/** Failures of a rollout besides the errors of the environment, the policy and the hooks. */
export * as RolloutError from "./rollout/RolloutError.ts"
/** Options of a supervised run. */
export * as SupervisedOptions from "./supervised/SupervisedOptions.ts"
/** Supervised examples as datums for cross entropy. */
export * as WeightedDatum from "./supervised/WeightedDatum.ts"
/** The negative log-likelihood of target tokens. */
export * as Nll from "./supervised/Nll.ts"
/** Bits per byte of target tokens: their likelihood, comparable whatever the tokenizer. */
export * as BitsPerByte from "./supervised/BitsPerByte.ts"
/** Losses of a chosen and a rejected answer. */
export * as PairLoss from "./preference/PairLoss.ts"
/** Options of a run of direct preference optimisation. */
export * as DpoOptions from "./preference/DpoOptions.ts"
/** The known name that a mistyped one most likely meant. */
export * as Suggestion from "./settings/Suggestion.ts"
/** An iteration lost more of its members than it may. */
export * as TooManyDropped from "./rl/TooManyDropped.ts"

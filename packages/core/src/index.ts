/** The modules that the guides use: environments, datasets, runs and their records. Stable. */

/** A model with its tokenizer and its renderer. */
export * as ChatModel from "./catalog/ChatModel.ts"
/** Messages of conversations, and their parts. */
export * as Message from "./chat/Message.ts"
/** Environments. Each one plays a single episode. */
export * as Env from "./env/Env.ts"
/** An environment with one question and a graded answer. */
export * as ProblemEnv from "./env/ProblemEnv.ts"
/** A group of environments whose rewards are compared with each other. */
export * as EnvGroupBuilder from "./env/EnvGroupBuilder.ts"
/** Several attempts at one problem. */
export * as ProblemGroupBuilder from "./env/ProblemGroupBuilder.ts"
/** An environment that exchanges messages instead of tokens. */
export * as MessageEnv from "./env/message/MessageEnv.ts"
/** Tools that a policy can call. */
export * as FunctionTool from "./env/message/FunctionTool.ts"
/** A task that is solved by calling tools. */
export * as ToolEnv from "./env/message/ToolEnv.ts"
/** Self-play: one policy plays all sides of a game. */
export * as SelfPlay from "./env/game/SelfPlay.ts"
/** Several answers to one prompt, each graded by a judge on rubrics. */
export * as RubricGradedGroupBuilder from "./env/judge/RubricGradedGroupBuilder.ts"
/** Several answers to one prompt, compared in pairs by a judge. */
export * as PairwisePreferenceGroupBuilder from "./env/judge/PairwisePreferenceGroupBuilder.ts"
/** Graders: functions that decide the reward of an episode or of a group. */
export * as Grader from "./env/Grader.ts"
/** Environment metrics that state how they are aggregated. */
export * as EnvMetric from "./records/EnvMetric.ts"
/** Judgements by environments and graders: a value, and optionally success, the answer, an explanation and partial values. */
export * as Score from "./records/Score.ts"
/** Batches of groups to roll out. */
export * as RLDataset from "./data/RLDataset.ts"
/** The policy of an episode: chooses the next tokens. */
export * as Policy from "./policy/Policy.ts"
/** Chooses the next message: a judge, a simulated user, an opponent. */
export * as MessagePolicy from "./policy/MessagePolicy.ts"
/** Plays environments with a policy and returns trajectories: for one episode, one group or many groups. */
export * as Rollout from "./rollout/Rollout.ts"
/** Failure policies of rollouts: when to retry, and what happens to a member or a group whose retries are exhausted. */
export * as FailurePolicy from "./rollout/FailurePolicy.ts"
/** Limits on an episode's turns, tokens, tool calls and time. */
export * as Limits from "./env/Limits.ts"
/** Reinforcement learning from groups of attempts. */
export * as Rl from "./rl/Rl.ts"
/** Published algorithms by name. Each sets the credit and the loss with its clipping, some also a KL penalty or group filters. */
export * as Algorithm from "./rl/Algorithm.ts"
/** How sampling and training alternate or overlap. */
export * as Pace from "./rl/Pace.ts"
/** Credit: turns rolled-out groups into the data that an update trains on. */
export * as Credit from "./learn/Credit.ts"
/** Advantage estimators: how much better each member did than its group. */
export * as Advantage from "./learn/Advantage.ts"
/** Losses that a backend computes: sums over tokens of a function of a token's log-probability or importance ratio. */
export * as Loss from "./model/Loss.ts"
/** Policy losses from the literature as expressions, each a few lines with its formula and its source. */
export * as PolicyLoss from "./losses/PolicyLoss.ts"
/** Learning rates over the iterations of a run. */
export * as LearningRate from "./learn/LearningRate.ts"
/** Recommended learning rates to start from, by model. */
export * as Hyperparameters from "./catalog/Hyperparameters.ts"
/** Supervised training: cross entropy on examples to imitate. */
export * as Supervised from "./supervised/Supervised.ts"
/** Batches of examples to imitate. */
export * as SupervisedDataset from "./supervised/SupervisedDataset.ts"
/** Direct preference optimization: training on preferences without a reward model. */
export * as Dpo from "./preference/Dpo.ts"
/** Batches of preferences: pairs of a chosen and a rejected conversation. */
export * as Preferences from "./preference/Preferences.ts"
/** Evaluators: measure weights on held-out problems. */
export * as Evaluator from "./evaluate/Evaluator.ts"
/**
 * Compares two runs, or two sets of seeds, on held-out problems. Results are paired by problem, so differences in problem difficulty
 * cancel.
 */
export * as Compare from "./report/Compare.ts"
/** Health metrics of a run: what each number means, and its usual range when training goes well. */
export * as Health from "./rl/metrics/Health.ts"
/** Records of a run: the typed, append-only history that resuming, reports, viewers and exports read. */
export * as RunRecord from "./records/RunRecord.ts"
/** The store to which a run appends its records, and the readers of such a store. */
export * as RunStore from "./records/RunStore.ts"
/** The port to backends, which sample and train. */
export * as Tinker from "./backend/Tinker.ts"
/** The error type of every backend. */
export * as TinkerError from "./backend/TinkerError.ts"
/** Settings: Schema fields with a default, unit, help text and check; each also states whether it is part of the run's identity. */
export * as Setting from "./settings/Setting.ts"
/** An invalid option, usually reported before the first request. */
export * as InvalidOption from "./settings/InvalidOption.ts"

/** What the guides use: environments, datasets, runs and their records. Stable. */

/** Model, tokenizer and renderer that belong together. */
export * as ChatModel from "./catalog/ChatModel.ts"
/** Messages of conversations, and their parts. */
export * as Message from "./chat/Message.ts"
/** One episode: an environment that is used once. */
export * as Env from "./env/Env.ts"
/** One question, one answer, graded. */
export * as ProblemEnv from "./env/ProblemEnv.ts"
/** Environments whose rewards are compared with each other. */
export * as EnvGroupBuilder from "./env/EnvGroupBuilder.ts"
/** Several attempts at one problem. */
export * as ProblemGroupBuilder from "./env/ProblemGroupBuilder.ts"
/** An environment that speaks in messages. */
export * as MessageEnv from "./env/message/MessageEnv.ts"
/** Tools that a policy can call. */
export * as FunctionTool from "./env/message/FunctionTool.ts"
/** A task that is solved by calling tools. */
export * as ToolEnv from "./env/message/ToolEnv.ts"
/** One policy on all sides of a game. */
export * as SelfPlay from "./env/game/SelfPlay.ts"
/** Several answers to one prompt, each graded by a judge on rubrics. */
export * as RubricGradedGroupBuilder from "./env/judge/RubricGradedGroupBuilder.ts"
/** Several answers to one prompt, each compared with others. */
export * as PairwisePreferenceGroupBuilder from "./env/judge/PairwisePreferenceGroupBuilder.ts"
/** Graders decide the reward of an episode or of a group. */
export * as Grader from "./env/Grader.ts"
/** Metrics that carry how they are aggregated. */
export * as EnvMetric from "./records/EnvMetric.ts"
/** Judgements of environments and graders: a value, and optionally whether the task was solved, the answer, an explanation and parts. */
export * as Score from "./records/Score.ts"
/** Batches of groups to roll out. */
export * as RLDataset from "./data/RLDataset.ts"
/** Chooses the next tokens. */
export * as Policy from "./policy/Policy.ts"
/** Chooses the next message: a judge, a simulated user, an opponent. */
export * as MessagePolicy from "./policy/MessagePolicy.ts"
/** From environments and a policy to trajectories: one episode, one group, many groups. */
export * as Rollout from "./rollout/Rollout.ts"
/** Failure policies of rollouts: retries, and the consequences of failures that retries cannot repair. */
export * as FailurePolicy from "./rollout/FailurePolicy.ts"
/** Limits of an episode. */
export * as Limits from "./env/Limits.ts"
/** Reinforcement learning from groups of attempts. */
export * as Rl from "./rl/Rl.ts"
/** Algorithms of the literature by name: each sets credit, loss, clip, KL penalty and filters of groups as its paper does. */
export * as Algorithm from "./rl/Algorithm.ts"
/** How sampling and training take turns. */
export * as Pace from "./rl/Pace.ts"
/** Credit: what an update trains on, made of the groups that were rolled out. */
export * as Credit from "./learn/Credit.ts"
/** Advantage estimators: how much better each member did than its group. */
export * as Advantage from "./learn/Advantage.ts"
/** The losses a backend computes, each a sum over tokens of L(lp) with ratio = exp(lp − q), q the sampler's log-probability. */
export * as Loss from "./model/Loss.ts"
/** Policy losses of the literature as expressions, each a few lines with its formula and its source. */
export * as PolicyLoss from "./losses/PolicyLoss.ts"
/** Learning rates over the iterations of a run. */
export * as LearningRate from "./learn/LearningRate.ts"
/** A learning rate to start from. */
export * as Hyperparameters from "./catalog/Hyperparameters.ts"
/** Supervised training: cross entropy on examples to imitate. */
export * as Supervised from "./supervised/Supervised.ts"
/** Batches of examples to imitate. */
export * as SupervisedDataset from "./supervised/SupervisedDataset.ts"
/** Direct preference optimisation: training on preferences without a reward model. */
export * as Dpo from "./preference/Dpo.ts"
/** Batches of preferences: pairs of a chosen and a rejected conversation. */
export * as Preferences from "./preference/Preferences.ts"
/** Evaluators: measurements of weights on problems they were not trained on. */
export * as Evaluator from "./evaluate/Evaluator.ts"
/** Comparison of two runs, or of two sets of seeds, on held-out problems: paired by problem, so that the difficulty of the problems does not blur the difference. */
export * as Compare from "./report/Compare.ts"
/** Signs of a run's health: what each number means in plain words, and where it usually lies when training goes well. */
export * as Health from "./rl/metrics/Health.ts"
/** Records of a run: one typed, append-only history from which resuming, reports, viewers and exports read. */
export * as RunRecord from "./records/RunRecord.ts"
/** The store of a run's records, and their readers. */
export * as RunStore from "./records/RunStore.ts"
/** The port to backends, which sample and train. */
export * as Tinker from "./backend/Tinker.ts"
/** The one error of every backend. */
export * as TinkerError from "./backend/TinkerError.ts"
/** Settings: fields of a Schema that carry their default, unit, help text, check and whether they belong to the run's identity. */
export * as Setting from "./settings/Setting.ts"
/** An option that cannot be used, refused before the first request. */
export * as InvalidOption from "./settings/InvalidOption.ts"

/** Parts of environments and datasets: games, judges, limits, outcomes and seeds. Advanced. */

/** A record of one episode. */
export * as Trajectory from "./env/Trajectory.ts"
/** The place in an episode where a prompt goes on, where that is not the end of the turn before it. */
export * as Branch from "./env/Branch.ts"
/** The prompt of a later turn, which keeps everything that was sampled before, token for token. */
export * as Continuation from "./env/message/Continuation.ts"
/** Why an episode ended. */
export * as StopReason from "./env/StopReason.ts"
/** One prompt and one answer without a reward of its own: the group compares the answers. */
export * as PromptEnv from "./env/PromptEnv.ts"
/** What follows when a response cannot be parsed. */
export * as ParseErrorPolicy from "./env/message/ParseErrorPolicy.ts"
/** The reward of episodes that were cut short. */
export * as TerminationReward from "./env/message/TerminationReward.ts"
/** A conversation with a user that a model simulates. */
export * as UserSimulator from "./env/message/UserSimulator.ts"
/** Several players who move in turns. */
export * as Game from "./env/game/Game.ts"
/** The policy on one side of a game, opponents on the other sides. */
export * as Versus from "./env/game/Versus.ts"
/** The parts that graders which ask a model have in common. */
export * as Judge from "./env/judge/Judge.ts"
/** A criterion for good answers, in words for a judge. */
export * as Rubric from "./env/judge/Rubric.ts"
/** Which of two answers is better. */
export * as PreferenceModel from "./env/judge/PreferenceModel.ts"
/** Which members are compared with each other, and their scores. */
export * as Tournament from "./env/judge/Tournament.ts"
/** Several datasets as one, each with its share of the groups. */
export * as Interleaved from "./data/Interleaved.ts"
/** Batches of groups that are chosen by the results of earlier rollouts. */
export * as Difficulty from "./data/Difficulty.ts"
/** The results of earlier groups, for datasets that choose the next ones by them. */
export * as History from "./data/History.ts"
/** Questions with answers as a dataset: the groups behind `RLDataset.problems`. */
export * as Problems from "./data/Problems.ts"
/** Keys of groups, attempts and turns. */
export * as Key from "./records/Key.ts"
/** Seeds as pure functions of keys, so that one seed gives one run whatever the concurrency. */
export * as Seed from "./records/Seed.ts"

/** Building blocks of environments and datasets: games, judges, limits, outcomes and seeds. Advanced. */

/** The record of one episode: its turns and how it ended. */
export * as Trajectory from "./env/Trajectory.ts"
/** The point in an episode from which a prompt continues, if that is not the end of the previous turn. */
export * as Branch from "./env/Branch.ts"
/** Builds the prompt of a later turn so that it keeps every token sampled before. */
export * as Continuation from "./env/message/Continuation.ts"
/** The reasons for which an episode can end. */
export * as StopReason from "./env/StopReason.ts"
/** One prompt and one answer without a reward of its own; the group's rewards come from comparing the answers. */
export * as PromptEnv from "./env/PromptEnv.ts"
/** What an episode does when a response cannot be parsed. */
export * as ParseErrorPolicy from "./env/message/ParseErrorPolicy.ts"
/** The reward of episodes that were cut short. */
export * as TerminationReward from "./env/message/TerminationReward.ts"
/** A conversation with a user simulated by a model. */
export * as UserSimulator from "./env/message/UserSimulator.ts"
/** A game of several players who take turns. */
export * as Game from "./env/game/Game.ts"
/** A game in which the policy plays one side and opponents play the others. */
export * as Versus from "./env/game/Versus.ts"
/** Code shared by graders that ask a model: the error of an answer without a verdict, and the count of judge calls. */
export * as Judge from "./env/judge/Judge.ts"
/** A criterion for good answers, worded for a judge. */
export * as Rubric from "./env/judge/Rubric.ts"
/** A model that decides which of two answers is better. */
export * as PreferenceModel from "./env/judge/PreferenceModel.ts"
/** Which group members are compared with each other, and how the comparisons become scores. */
export * as Tournament from "./env/judge/Tournament.ts"
/** Several datasets combined into one, which draws groups from them in proportion to given weights. */
export * as Interleaved from "./data/Interleaved.ts"
/** Batches whose groups are selected by the results of earlier rollouts. */
export * as Difficulty from "./data/Difficulty.ts"
/** The results of earlier groups, for datasets that select their next groups by them. */
export * as History from "./data/History.ts"
/** Questions with answers as a dataset: the groups behind `RLDataset.problems`. */
export * as Problems from "./data/Problems.ts"
/** Keys of groups, attempts and turns. */
export * as Key from "./records/Key.ts"
/** Seeds as pure functions of keys: a run with the same seed draws the same seeds at any concurrency. */
export * as Seed from "./records/Seed.ts"

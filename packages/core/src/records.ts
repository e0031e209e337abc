/** What a run has recorded, and its readers: groups, reports, audits and other rewards for the same rollouts. Advanced. */

/** A rolled out group as JSON text, losslessly: the payload of a `GroupRolledOut` record. */
export * as GroupPayload from "./rollout/payload/GroupPayload.ts"
/** What an iteration trained on, token by token: the payload of its `Updated` record, with a value for each trained token of each datum as base64 of little-endian 32-bit floats. */
export * as TrainedTokens from "./rl/metrics/TrainedTokens.ts"
/** Everything that a run has paid for, including iterations that a resume abandoned. */
export * as Spent from "./records/Spent.ts"
/** How a run was started: by which command, with which settings, on which machine. */
export * as Launch from "./records/Launch.ts"
/** The member whose failure ended a run, as an annotation of the cause. */
export * as FailedMember from "./rollout/FailedMember.ts"
/** JSON values. */
export * as Json from "./records/Json.ts"
/** Searches recorded rollouts for signs that a policy exploits its reward or degenerates. */
export * as Audit from "./report/Audit.ts"
/** What has become of a run, in one word, one sentence and two numbers, with the history of each sign of its health. */
export * as Diagnosis from "./report/Diagnosis.ts"
/** Where two runs diverge: their differences in configuration, and the first record that differs. */
export * as Divergence from "./report/Divergence.ts"
/** Re-grading of a recorded run: what its curve and its training data would have been with other rewards, another rule of credit or fewer groups. */
export * as Regrade from "./report/Regrade.ts"
/** Drawings of the reward over a run. */
export * as RewardCurve from "./report/RewardCurve.ts"
/** A run as its records tell it so far: groups and what updates made of them, iterations, evaluations, checkpoints, what went wrong. */
export * as Story from "./story/Story.ts"
/** Reads the story of a recorded run. */
export * as StoryReader from "./story/StoryReader.ts"
/** Records as readers have them: as they were written, or read from JSON. */
export * as Recorded from "./story/Recorded.ts"
/** The rollouts of a recorded run with their trajectories, and what updates made of them. */
export * as Rollouts from "./story/Rollouts.ts"
/** What was said in a recorded episode, turn by turn as messages. */
export * as Conversation from "./story/Conversation.ts"
/** Where prompts that are rendered again from a conversation differ from the recorded ones. */
export * as Departure from "./story/Departure.ts"
/** The tokens that a turn's prompt adds to the turn before it. */
export * as NewTokens from "./story/NewTokens.ts"
/** Names under which environments log texts that readers know. */
export * as LogNames from "./story/LogNames.ts"

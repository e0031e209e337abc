/** The records of a run and their readers: groups, reports, audits and re-grading. Advanced. */

/** What lists of rollouts and problems show of a group: its problem, its members' metrics and the policy's surprise. */
export * as GroupMeasures from "./rollout/GroupMeasures.ts"
/** A rolled out group as lossless JSON: the payload of a `GroupRolledOut` record. */
export * as GroupPayload from "./rollout/payload/GroupPayload.ts"
/**
 * The tokens that an iteration trained on, one by one: the payload of its `Updated` record. Each datum has a log-probability and an
 * advantage per trained token, as base64 of little-endian 32-bit floats.
 */
export * as TrainedTokens from "./rl/metrics/TrainedTokens.ts"
/** Everything that a run has paid for, including iterations that a resume abandoned. */
export * as Spent from "./records/Spent.ts"
/** How a run was started: the command, the settings and the machine. */
export * as Launch from "./records/Launch.ts"
/** The member whose failure ended a run, as an annotation of the cause. */
export * as FailedMember from "./rollout/FailedMember.ts"
/** JSON values. */
export * as Json from "./records/Json.ts"
/** Searches recorded rollouts for signs that a policy exploits its reward or degenerates. */
export * as Audit from "./report/Audit.ts"
/** A diagnosis of a run: one word, one sentence and two numbers, with the history of each health metric. */
export * as Diagnosis from "./report/Diagnosis.ts"
/** Where two runs diverge: the differences in their configurations, and the first record that differs. */
export * as Divergence from "./report/Divergence.ts"
/** Re-grades a recorded run: its reward curve and training data under other rewards, another credit rule or fewer groups. */
export * as Regrade from "./report/Regrade.ts"
/** A credit's recorded identity as text. */
export * as CreditText from "./learn/CreditText.ts"
/** Formats counts, shares, durations and sums of money for people. */
export * as Quantity from "./report/Quantity.ts"
/** Draws the reward of a run over its iterations. */
export * as RewardCurve from "./report/RewardCurve.ts"
/** A run so far, reconstructed from its records: groups and their updates, iterations, evaluations, checkpoints and problems. */
export * as Story from "./story/Story.ts"
/** Reads the story of a recorded run. */
export * as StoryReader from "./story/StoryReader.ts"
/** Records as readers receive them: in memory, or decoded from JSON. */
export * as Recorded from "./story/Recorded.ts"
/** The rollouts of a recorded run: their trajectories, and how updates used them. */
export * as Rollouts from "./story/Rollouts.ts"
/** A recorded episode as messages, turn by turn. */
export * as Conversation from "./story/Conversation.ts"
/** Where prompts rendered again from a conversation differ from the recorded prompts. */
export * as Departure from "./story/Departure.ts"
/** The tokens that a turn's prompt adds to the turn that it continues. */
export * as NewTokens from "./story/NewTokens.ts"
/** The names of environment logs that readers interpret. */
export * as LogNames from "./story/LogNames.ts"

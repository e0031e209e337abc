/**
 * Records and transcripts as the page receives them: JSON in which NaN and the infinities are null.
 *
 * @example
 * const rewards = (entries: ReadonlyArray<Entry.Entry>) =>
 *   entries.flatMap((entry) => entry._tag === "Updated" ? [entry.reward?.mean] : [])
 */
import type { Branch, Trajectory } from "@effect-rl/core/environments"
import type { Verdict } from "@effect-rl/core/evaluation"
import type { GroupResult } from "@effect-rl/core/program"
import type { Audit, Diagnosis, Recorded } from "@effect-rl/core/records"
import type { OpenAi } from "@effect-rl/core/renderers"

/** A record as JSON. */
export type Entry = Recorded.Recorded<null>

export type Group = Recorded.Group<null>
export type Updated = Recorded.Updated<null>
export type Evaluated = Recorded.Evaluated<null>

/** A run's line in the list of runs. */
export interface RunLine {
  /** The path of the run directory, which is also the run's name in addresses. */
  readonly run: string
  readonly program: string
  readonly model: string
  readonly state: string
  /** `running`: a process is writing the run. `ended` or `failed`: it ended normally or with an error. `killed`: its process is gone. */
  readonly status: "running" | "ended" | "failed" | "killed"
  readonly done: number
  readonly iterations: number | null
  readonly reward: number | null
  /** The first evaluator's newest score. */
  readonly score: number | null
  /** The newest held-out measurement as a number and as text: a share of right answers, a loss, a margin or a reward. */
  readonly held: { readonly value: number; readonly text: string } | null
  /** The main training measure: the reward, or else the loss, the margin, or the divergence from a teacher. */
  readonly measure: string
  /** The measure by iteration, thinned to about forty values. */
  readonly curve: ReadonlyArray<number | null>
  /** A hash of the run's identity without its seed, so it is equal for runs that differ only in their seeds. */
  readonly method: string
  /** The recipe, or the program if no recipe is recorded. */
  readonly recipe: string
  /** The name of the credit, such as `group_relative/centered`; empty for programs without credit. */
  readonly credit: string
  readonly tokens: number
  /** US dollars spent; null if a model that the run used has no price. */
  readonly dollars: number | null
  /** The run's verdict. Until the transcripts are audited, its level is `none` instead of `good`. */
  readonly verdict: Pick<Diagnosis.Diagnosis, "kind" | "level" | "sentence"> & { readonly isAudited: boolean }
  /** When the last record was written, in milliseconds since 1970. */
  readonly at: number
}

/** A stage of a pipeline: a run, and the stages on which it depends. */
export interface Stage {
  readonly line: RunLine
  /** The stages whose checkpoints this stage starts from, or uses as teachers or references. */
  readonly standsOn: ReadonlyArray<string>
}

/** The first findings of an audit. */
export interface Findings {
  readonly findings: ReadonlyArray<Audit.Finding>
  /** The total number of findings. */
  readonly all: number
}

/** The end of a run's log. */
export interface LogTail {
  readonly lines: ReadonlyArray<string>
  /** Whether the log has earlier lines. */
  readonly isCut: boolean
}

/** An unreadable run directory. */
export interface BrokenRun {
  readonly run: string
  readonly error: string
}

export type Logs = Readonly<Record<string, string | number | null>>

/** A single token's text, decoded by itself. */
export interface Piece {
  readonly text: string
  /** Whether the token is a special token, such as the end of a message. */
  readonly isSpecial: boolean
}

/** A part of a policy's response, as the model's renderer parses it. */
export interface SaidPart {
  readonly kind: "thinking" | "text" | "call" | "unread_call"
  readonly text: string
}

/** An update's effect on a turn: one number per sampled token. */
export interface TurnCredit {
  /** Why no token of the turn is trained on; null if the turn is trained on. */
  readonly masked: string | null
  readonly advantages: ReadonlyArray<number | null>
  /** Log-probabilities under the trained weights; null if the run did not record them. */
  readonly trainer: ReadonlyArray<number | null> | null
  /** The loss and its terms; null if it cannot be computed from the recorded values. */
  readonly loss: LossTerms | null
}

/** A loss per token, at the trainer's log-probabilities, or at a ratio of 1 if these were not recorded. */
export interface LossTerms {
  readonly name: string
  readonly ratios: ReadonlyArray<number | null>
  readonly values: ReadonlyArray<number | null>
  /** Derivative of the loss with respect to the token's log-probability. */
  readonly gradients: ReadonlyArray<number | null>
  /** Whether the token has an advantage but no gradient, because the loss clips it. */
  readonly clipped: ReadonlyArray<boolean>
}

/** The indices of a turn's messages among its member's messages. */
export interface TurnMessages {
  /** The first message that is new since the turn that this turn continues. */
  readonly first: number
  /** The response, which follows the prompt's messages. */
  readonly response: number
}

export interface TurnView {
  readonly place: TurnMessages
  /** The prompt's token ids; null marks a position of an image. */
  readonly prompt: ReadonlyArray<number | null>
  readonly tokens: ReadonlyArray<number>
  /** The texts of prompt tokens and sampled tokens; null if the model's tokenizer is not available. */
  readonly promptPieces: ReadonlyArray<Piece> | null
  readonly pieces: ReadonlyArray<Piece> | null
  /** The response's parts; null if the model's tokenizer or renderer is not available. */
  readonly said: ReadonlyArray<SaidPart> | null
  readonly logprobs: ReadonlyArray<number | null>
  readonly stopReason: string
  /** The optimizer step of the weights that sampled the turn. */
  readonly samplerStep: number
  readonly reward: number | null
  readonly trainable: boolean
  readonly metrics: Readonly<Record<string, number | boolean | null>>
  readonly logs: Logs
  readonly branch: Branch.Branch | null
  /**
   * Where the prompt, rendered again from the messages, differs from the recorded tokens; null if they are equal or the renderer is not
   * available.
   */
  readonly departure: string | null
  readonly times: Trajectory.TurnTimes | null
  readonly credit: TurnCredit
}

export interface MemberView {
  readonly stepReward: number | null
  readonly stopReason: string | null
  readonly logs: Logs
  /** The graders' metrics for the member. */
  readonly metrics: Readonly<Record<string, number | boolean | null>>
  readonly turns: ReadonlyArray<TurnView>
  /** The conversation in chat completions format. */
  readonly messages: ReadonlyArray<OpenAi.ChatMessage>
  /** The tools that the member could call, in chat completions format; empty if none are recorded. */
  readonly tools: ReadonlyArray<OpenAi.Tool>
}

/** A group's transcripts. A dropped member is null. */
export interface GroupView {
  readonly key: string
  readonly outcome: string
  readonly milliseconds: number
  readonly grading: GroupResult.GradingTime | null
  readonly rewards: ReadonlyArray<number | null>
  readonly members: ReadonlyArray<MemberView | null>
  /** The failures of members that are missing. */
  readonly lost: ReadonlyArray<{ readonly failure: string; readonly message: string }>
}

/** A search hit in a transcript, with the text around it. */
export interface Hit {
  readonly sequence: number
  readonly iteration: number
  readonly evaluator: string | null
  readonly key: string
  readonly member: number
  readonly turn: number
  /** The name under which the environment logged the text, or `prompt` or `response` if the text was found in tokens. */
  readonly name: string
  readonly before: string
  readonly match: string
  readonly after: string
}

/** The summary at the end of a search. */
export interface Searched {
  readonly groups: number
  /** Whether there may be more hits, because the search stopped early or some groups' transcripts are not available. */
  readonly isCut: boolean
  /** Number of groups whose payload is lost or damaged, and the error of the first. */
  readonly unread: number
  readonly reason: string | null
}

/** An iteration's groups with the advantages under another credit rule. */
export interface Regraded {
  readonly rule: string
  readonly groups: ReadonlyArray<{
    readonly key: string
    readonly verdict: string
    readonly advantages: ReadonlyArray<number | null>
  }>
}

/** A compared run, with its curve. */
export interface ComparedRun {
  readonly run: string
  /** The index of the run's method; runs that differ only in their seeds share a method. */
  readonly method: number
  /** The measure of `points`: the reward, or else the loss, the margin or the divergence from a teacher on which the run is trained. */
  readonly measure: string
  readonly points: ReadonlyArray<{
    readonly iteration: number
    readonly mean: number
    readonly standardError: number
  }>
}

/** A side of a comparison: its mean over the problems of both sides, and a description of how far it was trained. */
interface ComparedSide {
  readonly mean: number
  readonly standing: string
}

/** A method compared with the first method, by an evaluator's newest measurements. */
export interface ComparedScore {
  readonly method: number
  readonly evaluator: string
  readonly verdict: Verdict.Verdict
  readonly problems: number
  readonly left: ComparedSide
  readonly right: ComparedSide
  readonly difference: number
  /** The lower bound of the difference; null if it has none. */
  readonly low: number | null
  readonly high: number | null
  /** Which runs the interval describes. */
  readonly about: string
  readonly better: number
  readonly worse: number
  readonly equal: number
  /** Number of problems after which an anytime-valid test distinguishes the runs; null if it cannot. */
  readonly decidedAfter: number | null
  /** The problems on which the methods' first runs had different mean rewards, largest difference first; at most 50. */
  readonly changed: ReadonlyArray<ChangedProblem>
}

/** A problem on which two runs had different rewards. */
export interface ChangedProblem {
  readonly key: string
  readonly question: string
  readonly left: ComparedAnswer
  readonly right: ComparedAnswer
}

/** A run's attempts at a problem: their mean reward, and the first attempt's answer. */
export interface ComparedAnswer {
  readonly run: string
  /** The sequence number of the group's record. */
  readonly sequence: number
  readonly iteration: number
  readonly mean: number
  /** The first attempt's answer; null if the transcript cannot be read. */
  readonly answer: string | null
}

/** A method compared with the first method, by an evaluator's newest held-out loss or margin. */
export interface ComparedLoss {
  readonly method: number
  readonly evaluator: string
  readonly metric: string
  readonly verdict: Verdict.Verdict
  readonly left: ComparedSide
  readonly right: ComparedSide
  readonly difference: number
  /** The lower bound of the difference; null if a side has only one seed. */
  readonly low: number | null
  readonly high: number | null
}

export interface FieldDifference {
  readonly field: string
  /** The left run's value as JSON; empty if the run does not have the field. */
  readonly left: string
  readonly right: string
}

/** A run compared with the first run. */
export interface ComparedRecords {
  readonly run: string
  readonly configuration: ReadonlyArray<FieldDifference>
  /** The first record that differs; null if one run's records are a prefix of the other's. */
  readonly divergence: {
    readonly record: string
    readonly iteration: number
    readonly evaluator: string | null
    readonly key: string | null
    readonly differences: ReadonlyArray<FieldDifference>
  } | null
}

export interface Comparison {
  readonly runs: ReadonlyArray<ComparedRun>
  /** The runs of each method, starting with the first run's method. */
  readonly methods: ReadonlyArray<ReadonlyArray<string>>
  readonly scores: ReadonlyArray<ComparedScore>
  readonly losses: ReadonlyArray<ComparedLoss>
  /** Why methods have no scores compared with the first method. */
  readonly refusals: ReadonlyArray<string>
  readonly records: ReadonlyArray<ComparedRecords>
}

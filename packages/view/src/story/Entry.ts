/**
 * Records and transcripts as the page receives them: JSON, with null in place of NaN and the infinities.
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

/** A line of the list of runs. */
export interface RunLine {
  /** The path of the run directory, which is also its name in addresses. */
  readonly run: string
  readonly program: string
  readonly model: string
  readonly state: string
  /** The state of the run: a process is writing it, it ended by itself or by an error, or its process is gone. */
  readonly status: "running" | "ended" | "failed" | "killed"
  readonly done: number
  readonly iterations: number | null
  readonly reward: number | null
  /** The newest score of the first evaluator. */
  readonly score: number | null
  /** The newest held-out measurement, also as people read it: a share of right answers, a loss, a margin or a reward. */
  readonly held: { readonly value: number; readonly text: string } | null
  /** What training is measured by: the reward, or else the loss, the margin, or the divergence from a teacher. */
  readonly measure: string
  /** The measure of the iterations, of at most forty of them. */
  readonly curve: ReadonlyArray<number | null>
  /** Equal for runs that differ in their seeds alone. */
  readonly method: string
  /** The recipe, or the program where it is not recorded. */
  readonly recipe: string
  readonly tokens: number
  /** Null where a model that the run asked had no price. */
  readonly dollars: number | null
  /** What became of the run. Where its transcripts are not audited yet, no run is called good: its level is `none` in place of `good`. */
  readonly verdict: Pick<Diagnosis.Diagnosis, "kind" | "level" | "sentence"> & { readonly isAudited: boolean }
  /** When the last record was written, in milliseconds since 1970. */
  readonly at: number
}

/** A run of a pipeline. */
export interface Stage {
  readonly line: RunLine
  /** The stages whose checkpoints it began from, learns from or stays near. */
  readonly standsOn: ReadonlyArray<string>
}

/** What an audit found, the first of it. */
export interface Findings {
  readonly findings: ReadonlyArray<Audit.Finding>
  /** The number of all findings. */
  readonly all: number
}

/** The end of a run's log. */
export interface LogTail {
  readonly lines: ReadonlyArray<string>
  /** The log has more lines before them. */
  readonly isCut: boolean
}

/** A run directory that cannot be read. */
export interface BrokenRun {
  readonly run: string
  readonly error: string
}

export type Logs = Readonly<Record<string, string | number | null>>

/** A token's text, as the tokenizer says it by itself. */
export interface Piece {
  readonly text: string
  /** A control token of the model, such as the end of a message. */
  readonly isSpecial: boolean
}

/** A part of what a policy said in a turn, as the model's renderer reads it. */
export interface SaidPart {
  readonly kind: "thinking" | "text" | "call" | "unread_call"
  readonly text: string
}

/** The effect of an update on the tokens of a turn: one number for each sampled token. */
export interface TurnCredit {
  /** Why no token of the turn is trained on; null where they are. */
  readonly masked: string | null
  readonly advantages: ReadonlyArray<number | null>
  /** Log-probabilities under the weights that were trained; null where the run did not record them. */
  readonly trainer: ReadonlyArray<number | null> | null
  /** The loss whose terms follow; null where it cannot be computed from what was recorded. */
  readonly loss: LossTerms | null
}

/** A loss token by token, at the trainer's log-probabilities, or at a ratio of 1 where those were not recorded. */
export interface LossTerms {
  readonly name: string
  readonly ratios: ReadonlyArray<number | null>
  readonly values: ReadonlyArray<number | null>
  /** Derivative of the loss by the token's log-probability: how hard the token is pushed. */
  readonly gradients: ReadonlyArray<number | null>
  /** The loss no longer moves the token although it has an advantage. */
  readonly clipped: ReadonlyArray<boolean>
}

/** The places of a turn in the messages of its member. */
export interface TurnMessages {
  /** The first message that was shown since the turn which it continues. */
  readonly first: number
  /** Its response, which follows the messages that were shown. */
  readonly response: number
}

export interface TurnView {
  readonly place: TurnMessages
  /** Token ids of the prompt; null stands for a position of an image. */
  readonly prompt: ReadonlyArray<number | null>
  readonly tokens: ReadonlyArray<number>
  /** Texts of the prompt's and of the sampled tokens; null where the model's tokenizer is not here. */
  readonly promptPieces: ReadonlyArray<Piece> | null
  readonly pieces: ReadonlyArray<Piece> | null
  /** Null where the model's tokenizer or its renderer is not here. */
  readonly said: ReadonlyArray<SaidPart> | null
  readonly logprobs: ReadonlyArray<number | null>
  readonly stopReason: string
  /** Optimizer steps behind the weights that sampled it. */
  readonly samplerStep: number
  readonly reward: number | null
  readonly trainable: boolean
  readonly metrics: Readonly<Record<string, number | boolean | null>>
  readonly logs: Logs
  readonly branch: Branch.Branch | null
  /** Where the prompt, rendered again from the messages, differs from the recorded tokens; null where it does not, or the renderer is not here. */
  readonly departure: string | null
  readonly times: Trajectory.TurnTimes | null
  readonly credit: TurnCredit
}

export interface MemberView {
  readonly stepReward: number | null
  readonly stopReason: string | null
  readonly logs: Logs
  /** Reports of the group's graders about the member. */
  readonly metrics: Readonly<Record<string, number | boolean | null>>
  readonly turns: ReadonlyArray<TurnView>
  /** The conversation, in the format of chat completions. */
  readonly messages: ReadonlyArray<OpenAi.ChatMessage>
}

/** The transcripts of a group. A member that was dropped is null. */
export interface GroupView {
  readonly key: string
  readonly outcome: string
  readonly milliseconds: number
  readonly grading: GroupResult.GradingTime | null
  readonly rewards: ReadonlyArray<number | null>
  readonly members: ReadonlyArray<MemberView | null>
  /** Why members are missing. */
  readonly lost: ReadonlyArray<{ readonly failure: string; readonly message: string }>
}

/** A place in a transcript where a text was found, with what stands around it. */
export interface Hit {
  readonly sequence: number
  readonly iteration: number
  readonly evaluator: string | null
  readonly key: string
  readonly member: number
  readonly turn: number
  /** The name under which the environment logged the text. */
  readonly name: string
  readonly before: string
  readonly match: string
  readonly after: string
}

/** The end of a search. */
export interface Searched {
  readonly groups: number
  /** More was found than is shown. */
  readonly isCut: boolean
  /** Groups whose payload is lost or damaged, and what is wrong with the first of them. */
  readonly unread: number
  readonly reason: string | null
}

/** The groups of an iteration with the advantages that another rule of credit gives. */
export interface Regraded {
  readonly rule: string
  readonly groups: ReadonlyArray<{
    readonly key: string
    readonly verdict: string
    readonly advantages: ReadonlyArray<number | null>
  }>
}

/** A run of a comparison, with the data of its curves. */
export interface ComparedRun {
  readonly run: string
  /** Runs that differ in their seed alone belong to one method. */
  readonly method: number
  /** What its points measure: the reward, or else the loss, the margin or the divergence from a teacher that it is trained by. */
  readonly measure: string
  readonly points: ReadonlyArray<{
    readonly iteration: number
    readonly mean: number
    readonly standardError: number
  }>
}

/** A side of a comparison: its mean over the problems of both, and in words how far it was trained. */
interface ComparedSide {
  readonly mean: number
  readonly standing: string
}

/** A method beside the first one, on the newest measurement of an evaluator. */
export interface ComparedScore {
  readonly method: number
  readonly evaluator: string
  readonly verdict: Verdict.Verdict
  readonly problems: number
  readonly left: ComparedSide
  readonly right: ComparedSide
  readonly difference: number
  /** Null where nothing bounds the difference. */
  readonly low: number | null
  readonly high: number | null
  /** Which runs the interval is about. */
  readonly about: string
  readonly better: number
  readonly worse: number
  readonly equal: number
  /** Problems after which these runs could be told apart at any time; null where they cannot. */
  readonly decidedAfter: number | null
  /** The problems that the first run of each method answered otherwise, those that changed most first; at most 50. */
  readonly changed: ReadonlyArray<ChangedProblem>
}

/** A problem at which two runs did not do equally well. */
export interface ChangedProblem {
  readonly key: string
  readonly question: string
  readonly left: ComparedAnswer
  readonly right: ComparedAnswer
}

/** A run's attempts at a problem: their mean reward, and what the first of them answered. */
export interface ComparedAnswer {
  readonly run: string
  /** The number of the record of the group. */
  readonly sequence: number
  readonly iteration: number
  readonly mean: number
  /** Null where its transcript cannot be read. */
  readonly answer: string | null
}

/** A method beside the first one, by the newest held-out loss or margin of an evaluator. */
export interface ComparedLoss {
  readonly method: number
  readonly evaluator: string
  readonly metric: string
  readonly verdict: Verdict.Verdict
  readonly left: ComparedSide
  readonly right: ComparedSide
  readonly difference: number
  /** Null where a side has one seed. */
  readonly low: number | null
  readonly high: number | null
}

export interface FieldDifference {
  readonly field: string
  /** JSON; empty where the run does not have the field. */
  readonly left: string
  readonly right: string
}

/** A run compared with the first one. */
export interface ComparedRecords {
  readonly run: string
  readonly configuration: ReadonlyArray<FieldDifference>
  /** Null where one run is a beginning of the other. */
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
  /** The runs of each method, the first run's first. */
  readonly methods: ReadonlyArray<ReadonlyArray<string>>
  readonly scores: ReadonlyArray<ComparedScore>
  readonly losses: ReadonlyArray<ComparedLoss>
  /** Why methods have no scores beside the first one. */
  readonly refusals: ReadonlyArray<string>
  readonly records: ReadonlyArray<ComparedRecords>
}

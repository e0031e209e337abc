/** Records and transcripts as the page receives them: JSON, with null in place of NaN and the infinities. */
import type { RunRecord } from "@effect-rl/core"

/** A value after JSON. */
type Shown<A> = A extends number ? number | null
  : A extends ReadonlyArray<infer B> ? ReadonlyArray<Shown<B>>
  : A extends object ? { readonly [K in keyof A]: Shown<A[K]> }
  : A

/** Fields that are always finite, so that the page can count with them. */
export interface Stamp {
  readonly at: number
  readonly segment: number
  readonly sequence: number
}

type Finite = "iteration" | "continuesAfter" | "groups" | "retries" | "milliseconds"

type EntryOf<A extends RunRecord.RunRecord> = A extends RunRecord.RunRecord
  ? Omit<Shown<A>, keyof Stamp | "datums" | Extract<keyof A, Finite>> & Pick<A, Extract<keyof A, Finite>> & Stamp
  : never

export type Opened = EntryOf<RunRecord.Opened>
export type Sampling = EntryOf<RunRecord.Sampling>
export type Group = EntryOf<RunRecord.GroupRolledOut>
export type Credited = Omit<EntryOf<RunRecord.Credited>, "groups"> & {
  readonly groups: ReadonlyArray<Shown<RunRecord.Credited["groups"][number]>>
}
export type Updated = EntryOf<RunRecord.Updated>
export type Evaluating = EntryOf<RunRecord.Evaluating>
export type Evaluated = EntryOf<RunRecord.Evaluated>
export type Saved = EntryOf<RunRecord.Saved>
export type Warning = EntryOf<RunRecord.Warning>
export type Finished = EntryOf<RunRecord.Finished>
export type Failed = EntryOf<RunRecord.Failed>

/** A record without the datums of its updates, which are as many as the members of all groups. */
export type Entry =
  | Opened
  | Sampling
  | Group
  | Credited
  | Updated
  | Evaluating
  | Evaluated
  | Saved
  | Warning
  | Finished
  | Failed

/** A line of the list of runs. */
export interface RunLine {
  /** The path of the run directory, which is also its name in addresses. */
  readonly run: string
  readonly program: string
  readonly model: string
  readonly state: string
  readonly done: number
  readonly iterations: number | null
  readonly reward: number | null
  readonly tokens: number
  /** When the last record was written, in milliseconds since 1970. */
  readonly at: number
}

/** A run directory that cannot be read. */
export interface BrokenRun {
  readonly run: string
  readonly error: string
}

export type Logs = Readonly<Record<string, string | number | null>>

export interface TurnView {
  /** Token ids of the prompt; null stands for a position of an image. */
  readonly prompt: ReadonlyArray<number | null>
  readonly tokens: ReadonlyArray<number>
  readonly logprobs: ReadonlyArray<number | null>
  readonly stopReason: string
  readonly reward: number | null
  readonly trainable: boolean
  readonly metrics: Readonly<Record<string, number | boolean | null>>
  readonly logs: Logs
  readonly fork: string | null
}

export interface MemberView {
  readonly stepReward: number | null
  readonly stopReason: string | null
  readonly logs: Logs
  readonly turns: ReadonlyArray<TurnView>
}

/** The transcripts of a group. A member that was dropped is null. */
export interface GroupView {
  readonly key: string
  readonly outcome: string
  readonly samplerStep: number | null
  readonly rewards: ReadonlyArray<number | null>
  readonly members: ReadonlyArray<MemberView | null>
  /** Why members are missing. */
  readonly lost: ReadonlyArray<{ readonly failure: string; readonly message: string }>
}

/** The recorded rows of advantage estimators, and the reasons why some are not compared. */
import { Schema } from "effect"
import * as TrainingVectors from "../model/TrainingVectors.ts"

const Row = Schema.Struct({
  id: Schema.String,
  kind: Schema.String,
  input: Schema.Struct({
    peer: Schema.optionalKey(Schema.String),
    params: Schema.optionalKey(Schema.NullOr(Schema.Record(Schema.String, Schema.Unknown))),
    groups: Schema.optionalKey(
      Schema.Array(Schema.Struct({ rewards: Schema.optionalKey(Schema.Array(Schema.Number)) }))
    ),
    members: Schema.optionalKey(Schema.Array(Schema.Struct({ reward: Schema.Number })))
  }),
  output: Schema.Struct({ advantages: Schema.optionalKey(Schema.Unknown) })
})
type Row = typeof Row.Type

const Rows = Schema.Array(Schema.Array(Schema.Number))

/** Whether a row keeps the reward of a single-member group. Here and in most projects such a group has no advantage. */
const keepsLoneReward = ({ input: { groups = [] }, output: { advantages } }: Row): boolean =>
  groups.some(({ rewards = [] }, index) =>
    rewards.length === 1 && !(Schema.is(Rows)(advantages) && advantages[index]?.[0] === 0)
  )

const isUnlike = (value: unknown, expected: unknown) => value !== undefined && value !== expected

const normalization = (params: NonNullable<Row["input"]["params"]>): string | undefined =>
  params["mean_level"] === "group" && params["std_level"] === null
    ? undefined
    : "AReaL's other normalizations have no counterpart"

const byKind: Readonly<Record<string, (row: Row) => string | undefined>> = {
  batch_std: () => "the group's mean with the batch's deviation has no counterpart",
  gpg: () => "GPG's rescaling by informative groups has no counterpart",
  gdpo: ({ input }) => input.peer === "TRL" ? "GDPO as in TRL, which whitens sequences, has no counterpart" : undefined,
  max_rl: ({ input }) => input.peer === "SkyRL" ? "SkyRL adds ε to the mean, also to one below 0" : undefined,
  normalization: ({ input: { params } }) => normalization(params ?? {}),
  pass_at_k: ({ input: { params } }) =>
    params?.["norm_by_std"] === true ? "pass@k divided by the deviation has no counterpart" : undefined,
  reinforce_pp: ({ input: { params } }) =>
    isUnlike(params?.["gamma"], 1) ? "REINFORCE++ with γ other than 1 has no counterpart" : undefined,
  std: ({ input }) => input.peer === "TRL" ? "TRL adds 10⁻⁴ to the deviation, here it is 10⁻⁶" : undefined
}

const decode = Schema.decodeUnknownSync(Row)

export const lines = TrainingVectors.lines("estimators.jsonl")

/** Why a row is not compared; undefined if it is. */
export const reasonOf = (line: unknown): string | undefined => {
  const row = decode(line)
  return byKind[row.kind]?.(row)
    ?? (keepsLoneReward(row) ? "a group of one keeps its reward, here it has nothing to be compared with" : undefined)
}

/** The compared rows of some kinds. */
export const ofKinds = <A>(schema: Schema.Codec<A, unknown>, kinds: ReadonlyArray<string>): ReadonlyArray<A> =>
  lines.filter((line) => kinds.includes(decode(line).kind) && reasonOf(line) === undefined).map((line) =>
    Schema.decodeUnknownSync(schema)(line)
  )

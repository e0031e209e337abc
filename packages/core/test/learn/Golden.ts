/** Decodes the recorded cases in `test/fixtures/rl`. */
import { Schema } from "effect"
import { readFileSync } from "node:fs"
import { join } from "node:path"

const beyondJson = new Map([["NaN", NaN], ["Infinity", Infinity], ["-Infinity", -Infinity]])

const parse = (line: string): unknown =>
  JSON.parse(line, (_, value: unknown) => typeof value === "string" ? beyondJson.get(value) ?? value : value)

const read = <A>(file: string, schema: Schema.Codec<A, unknown>): ReadonlyArray<A> =>
  readFileSync(join(import.meta.dirname, "../fixtures/rl", file), "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => Schema.decodeUnknownSync(schema)(parse(line)))

const Numbers = Schema.Array(Schema.Number)
const Named = { id: Schema.String, known_defect: Schema.optional(Schema.Array(Schema.String)) }
const Failed = Schema.Struct({ error: Schema.String })
const Chunk = Schema.Union([
  Schema.Struct({ type: Schema.Literal("encoded_text"), tokens: Numbers }),
  Schema.Struct({
    type: Schema.Literal("image"),
    data_base64: Schema.String,
    format: Schema.Literals(["png", "jpeg"]),
    expected_tokens: Schema.Int
  }),
  Schema.Struct({
    type: Schema.Literal("image_asset_pointer"),
    location: Schema.String,
    format: Schema.Literals(["png", "jpeg"]),
    expected_tokens: Schema.Int
  })
])
export type Chunk = typeof Chunk.Type

const RewardGroups = Schema.Array(Schema.Struct({ step_rewards: Schema.Array(Numbers), final_rewards: Numbers }))

export const advantages = read(
  "advantages.jsonl",
  Schema.Struct({
    ...Named,
    input: Schema.Struct({ groups: RewardGroups }),
    expect: Schema.Struct({ total_rewards: Schema.Array(Numbers), advantages: Schema.Array(Numbers) })
  })
)

export const constantRemovals = read(
  "constant_removal.jsonl",
  Schema.Struct({
    ...Named,
    input: Schema.Struct({ groups: RewardGroups }),
    expect: Schema.Struct({ kept_indices: Numbers, informative: Numbers })
  })
)

export const assemblies = read(
  "assemble.jsonl",
  Schema.Struct({
    ...Named,
    input: Schema.Struct({ groups: RewardGroups }),
    expect: Schema.Struct({
      datum_owners: Schema.Array(Schema.Tuple([Schema.Number, Schema.Number])),
      datum_advantages: Schema.Array(Numbers),
      datum_masks: Schema.Array(Numbers)
    })
  })
)

const Datum = Schema.Struct({
  input_chunks: Schema.Array(Chunk),
  input_length: Schema.Int,
  target_tokens: Numbers,
  logprobs: Numbers,
  advantages: Numbers,
  mask: Numbers
})

export const datums = read(
  "datums.jsonl",
  Schema.Struct({
    ...Named,
    input: Schema.Struct({
      advantage: Schema.Number,
      transitions: Schema.Array(Schema.Struct({
        ob: Schema.Array(Chunk),
        ac: Schema.Struct({ tokens: Numbers, logprobs: Schema.NullOr(Numbers) }),
        metrics: Schema.Record(Schema.String, Schema.Number)
      }))
    }),
    expect: Schema.Union([Failed, Schema.Struct({ datums: Schema.Array(Datum) })])
  })
)

const Reported = Schema.Record(Schema.String, Schema.Number)
const RolledOut = Schema.Struct({
  trajectories: Schema.Array(Schema.Struct({
    transitions: Schema.Array(Schema.Struct({
      ob_length: Schema.Int,
      action_length: Schema.Int,
      reward: Schema.Number,
      metrics: Reported
    }))
  })),
  final_rewards: Numbers,
  group_metrics: Schema.Array(Reported),
  rollout_errors: Schema.Array(Schema.Struct({ error_type: Schema.String, error_message: Schema.String })),
  tags: Schema.Array(Schema.String)
})
export type RolledOut = typeof RolledOut.Type
const NotRolledOut = Schema.Struct({
  skipped: Schema.Literals(["failed", "constant_reward"]),
  tags: Schema.Array(Schema.String)
})

export const metrics = read(
  "metrics.jsonl",
  Schema.Struct({
    ...Named,
    known_defect_keys: Schema.optional(Schema.Array(Schema.String)),
    input: Schema.Struct({ groups: Schema.Array(Schema.Union([RolledOut, NotRolledOut])) }),
    expect: Schema.Struct({ trajectory_metrics: Reported, rollout_error_metrics: Reported })
  })
)

export const shifts = read(
  "kl_sample_train.jsonl",
  Schema.Struct({
    ...Named,
    input: Schema.Struct({
      datums: Schema.Array(Schema.Struct({
        input_tokens: Numbers,
        target_tokens: Numbers,
        logprobs: Numbers,
        advantages: Numbers,
        mask: Numbers
      })),
      training_logprobs: Schema.Array(Numbers)
    }),
    expect: Schema.Union([Failed, Schema.Struct({ metrics: Reported })])
  })
)

export const splits = read(
  "split_list.jsonl",
  Schema.Struct({
    ...Named,
    input: Schema.Struct({ length: Schema.Int, num_splits: Schema.Int }),
    expect: Schema.Union([Failed, Schema.Struct({ parts: Schema.Array(Numbers) })])
  })
)

/** Whether a number is within 1e-6 of the expected one, relative to `scale`; upstream's float32 sums depend on their order. */
export const isClose = (actual: number | undefined, expected: number, scale = 1) =>
  actual !== undefined && Math.abs(actual - expected) <= 1e-6 * Math.max(1, Math.abs(scale))

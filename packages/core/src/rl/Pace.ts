/** How sampling and training alternate or overlap. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { JsonObject } from "../records/Json.ts"
import * as Check from "../settings/Check.ts"
import type { InvalidOption } from "../settings/InvalidOption.ts"
import * as Setting from "../settings/Setting.ts"

/** Settings of streaming minibatches. */
export const StreamingSettings = Schema.Struct({
  /**
   * Passes of each optimizer step, each submitted once its share of the groups is complete; unless given, asynchronous training submits an
   * update once all of its groups are complete.
   */
  minibatches: Setting.int({
    least: 1,
    help: "Passes of each optimizer step, each submitted once its share of the groups is complete; unless given, "
      + "asynchronous training submits an update once all of its groups are complete",
    identity: true
  })
})
export interface StreamingSettings extends Schema.Codec.Encoded<typeof StreamingSettings> {}

/** Settings of asynchronous training. */
export const AsyncSettings = Schema.Struct({
  /** How many iterations ahead groups are started, 1 unless given; 0 waits for each update as synchronous training does. */
  maxStepsOffPolicy: Setting.int({
    least: 0,
    unit: "iterations",
    help:
      "How many iterations ahead groups are started, 1 unless given; 0 waits for each update as synchronous training does",
    identity: true
  }),
  /** What happens to groups that would become older than maxStepsOffPolicy: the run waits for them (unless given), or drops them. */
  onStale: Setting.choice({
    choices: ["wait", "drop"],
    help:
      "What happens to groups that would become older than maxStepsOffPolicy: the run waits for them (unless given), "
      + "or drops them",
    identity: true
  }),
  /**
   * The weights that sample the turns of an episode: those with which its group started (pinned, unless given), or the newest ones for each
   * turn.
   */
  turnWeights: Setting.choice({
    choices: ["pinned", "newest"],
    help:
      "The weights that sample the turns of an episode: those with which its group started (pinned, unless given), or "
      + "the newest ones for each turn",
    identity: true
  }),
  ...StreamingSettings.fields
})
export interface AsyncSettings extends Schema.Codec.Encoded<typeof AsyncSettings> {}

const names = ["synchronous", "async", "streaming"] as const

/** A pace by name, with its settings. */
export interface Pace {
  readonly name: typeof names[number]
  readonly settings: AsyncSettings
}

/** A pace by name, with its settings, as read from flags or a file. */
export const PaceSettings = Schema.Struct({
  /**
   * Sample a batch and train on it in turn, sample ahead while training (async), or submit the passes of an update while its batch is
   * sampled (streaming). Default: synchronous.
   */
  name: Setting.choice({
    choices: names,
    default: "synchronous",
    help:
      "Sample a batch and train on it in turn, sample ahead while training (async), or submit the passes of an update "
      + "while its batch is sampled (streaming)"
  }),
  settings: Setting.group(AsyncSettings)
}).annotate({ title: "Pace" })

/** Samples a batch with the newest weights, trains on it, then samples the next batch with the updated weights. */
export const synchronous: Pace = { name: "synchronous", settings: {} }

/**
 * Samples while it trains. Groups of at most `maxStepsOffPolicy + 1` iterations are in flight or waiting; a trained group frees its place
 * once newer weights are published. With `minibatches`, the passes of an update are submitted while its groups are still being sampled.
 *
 * @example
 * Rl.run({ model, dataset, pace: Pace.async({ maxStepsOffPolicy: 1 }), update: { loss: Loss.ppo() } })
 *
 * @see tinker-cookbook `AsyncConfig`
 */
export const async = (settings: AsyncSettings = {}): Pace => ({ name: "async", settings })

/**
 * Submits the passes of an update while the rest of its batch is still being sampled: `minibatches` passes per optimizer step, default 1.
 * The weights stay the same meanwhile, so training is on-policy, with the gradients of synchronous training.
 *
 * @example
 * Rl.run({ model, dataset, pace: Pace.streaming({ minibatches: 4 }) })
 *
 * @see tinker-cookbook `StreamMinibatchConfig`
 */
export const streaming = (settings: StreamingSettings): Pace => ({ name: "streaming", settings })

/** The settings of any pace. Synchronous and streaming training are represented as asynchronous training with `maxStepsOffPolicy` 0. */
export interface Resolved {
  readonly name: Pace["name"]
  readonly maxStepsOffPolicy: number
  readonly onStale: NonNullable<AsyncSettings["onStale"]>
  readonly turnWeights: NonNullable<AsyncSettings["turnWeights"]>
  /** The number of passes per optimizer step; absent if an update is submitted as a whole. */
  readonly minibatches?: number
}

const settingsOf = { synchronous: Schema.Struct({}), async: AsyncSettings, streaming: StreamingSettings }

/** Fails with the first setting that belongs to another pace. */
const checkOwn = ({ name, settings }: Pace) =>
  Check.all(
    ...Object.entries(settings).map(([setting, value]) =>
      Check.option(`pace.${setting}`, value, {
        expected: `no value: the pace ${name} does not have this setting`,
        accepts: () => Object.hasOwn(settingsOf[name].fields, setting) || !Object.hasOwn(AsyncSettings.fields, setting)
      })
    )
  )

const defaults = { onStale: "wait", turnWeights: "pinned" } as const

/** The settings with defaults filled in. Fails with the first setting that the pace does not have, or whose value is invalid. */
export const resolve = Effect.fnUntraced(function*(
  pace: Pace
): Effect.fn.Return<Resolved, InvalidOption> {
  yield* checkOwn(pace)
  const { name, settings } = pace
  switch (name) {
    case "synchronous":
      return { ...defaults, name, maxStepsOffPolicy: 0 }
    case "async": {
      const given = yield* Setting.decode(AsyncSettings, settings, "pace")
      const resolved = { ...defaults, name, maxStepsOffPolicy: 1, ...given }
      // With `maxStepsOffPolicy` 0, no weights are published during an episode.
      return resolved.maxStepsOffPolicy === 0 ? { ...resolved, turnWeights: defaults.turnWeights } : resolved
    }
    case "streaming":
      return {
        ...defaults,
        name,
        maxStepsOffPolicy: 0,
        minibatches: 1,
        ...(yield* Setting.decode(StreamingSettings, settings, "pace"))
      }
  }
})

/** The settings that must be equal for a run to resume; none for the synchronous pace. */
export const identity = (resolved: Resolved): JsonObject => {
  if (resolved.name === "synchronous") return {}
  const { turn_weights: _, ...pace } = Setting.identity(AsyncSettings, resolved)
  return { pace: resolved.turnWeights === "pinned" ? pace : { ...pace, turn_weights: resolved.turnWeights } }
}

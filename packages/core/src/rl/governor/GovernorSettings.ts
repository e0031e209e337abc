/** What a run's governor may do. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Suggestion from "../../chat/Suggestion.ts"
import { InvalidOption } from "../../record/InvalidOption.ts"
import type { JsonObject } from "../../record/Json.ts"
import * as Setting from "../../record/Setting.ts"
import * as Health from "../Health.ts"

/** The settings of a governor. */
export const GovernorSettings = Schema.Struct({
  essBase: Setting.number({
    above: 0,
    most: 1,
    help: "Effective sample size, as a share of an update's sequences, below which the learning rate is scaled down; "
      + "never unless given",
    identity: true
  }),
  stopOn: Setting.text({
    help: "Metrics, separated by commas, that end the run where they leave their healthy range; none unless given"
  })
})
export interface GovernorSettings extends Schema.Codec.Encoded<typeof GovernorSettings> {}

/** The governor of a run, with its settings read. */
export interface Governor {
  readonly essBase: number | undefined
  readonly stopOn: ReadonlyArray<string>
}

/** Signs of drift are left out: they describe the whole run, not one iteration. */
const stoppable = Health.signs.filter(({ healthy }) => healthy !== undefined).map(({ metric }) => metric).filter((
  metric
) => !metric.startsWith("drift/"))

/** Fails where a setting is not accepted, or a metric has no healthy range. */
export const resolve = Effect.fnUntraced(function*(
  settings: GovernorSettings
): Effect.fn.Return<Governor, InvalidOption> {
  const { essBase, stopOn = "" } = yield* Setting.decode(GovernorSettings, settings, "update.governor")
  const metrics = stopOn.split(",").map((name) => name.trim()).filter((name) => name !== "")
  const unknown = metrics.find((name) => !stoppable.includes(name))
  if (unknown !== undefined) {
    const expected = `metrics with a healthy range: ${Suggestion.describe(unknown, stoppable)}`
    return yield* new InvalidOption({ field: "update.governor.stopOn", found: unknown, expected })
  }
  return { essBase, stopOn: metrics }
})

/** The settings that must be equal for a run to be resumed: those that decide its weights. */
export const identity = ({ essBase }: Governor): JsonObject =>
  essBase === undefined ? {} : { governor: { ess_base: essBase } }

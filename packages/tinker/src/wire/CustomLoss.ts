/** Bodies about client-defined losses that a server computes. */
import { SequenceId } from "@effect-rl/agent/wire/Json"
import { LossGraph } from "@effect-rl/core/losses"
import * as Schema from "effect/Schema"

const type = Schema.optionalKey(Schema.String)

export const CreateCustomLossRequest = Schema.Struct({
  session_id: Schema.String,
  custom_loss_seq_id: SequenceId,
  ...LossGraph.LossGraph.fields,
  type
})

export const CreateCustomLossResult = Schema.Struct({ loss_id: Schema.String, type })

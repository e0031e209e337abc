/** Data for TensorBoard's HParams page: a run's settings, start time and outcome. */
import type { RunRecord } from "@effect-rl/core"
import { Recorded, Story } from "@effect-rl/core/records"
import * as Protobuf from "./Protobuf.ts"

type Value = string | number | boolean

/** Encodes a `google.protobuf.Value`. Fields: 2 number_value, 3 string_value, 4 bool_value. */
const value = (given: Value): Uint8Array =>
  typeof given === "number"
    ? Protobuf.double(2, given)
    : typeof given === "boolean"
    ? Protobuf.whole(4, given ? 1 : 0)
    : Protobuf.text(3, given)

const isValue = (given: unknown): given is Value =>
  typeof given === "string" || typeof given === "number" || typeof given === "boolean"

/** The recipe's settings if the run recorded them, otherwise the plain fields of its identity and settings. */
const settingsOf = (opened: RunRecord.Opened): ReadonlyArray<readonly [name: string, value: Value]> => {
  const launch = Story.launch(Story.fromRecords([Recorded.make(opened)]))
  const all = launch === undefined
    ? Object.entries({ ...opened.identity, ...opened.settings })
    : [
      ["model", opened.identity["model"]] as const,
      ...launch.settings.map(({ name, value }) => [name, value] as const)
    ]
  return all.flatMap(([name, given]) => isValue(given) ? [[name, given] as const] : [])
}

/** A tensor of one float, for a summary without data. `TensorProto` fields: 1 dtype, 2 tensor_shape, 5 float_val. */
const noTensor = [
  Protobuf.whole(1, 1),
  Protobuf.message(2, [Protobuf.message(2, [Protobuf.whole(1, 1)])]),
  Protobuf.float(5, 0)
]

/** The plugin's `Summary.Value`. Fields: 1 tag, 8 tensor, 9 metadata with 1 plugin_data. */
const summary = (tag: string, data: Uint8Array) =>
  Protobuf.message(1, [
    Protobuf.text(1, tag),
    Protobuf.message(8, noTensor),
    Protobuf.message(9, [
      Protobuf.message(1, [Protobuf.text(1, "hparams"), Protobuf.message(2, [data])]),
      Protobuf.whole(4, 2)
    ])
  ])

/** `HParamsPluginData` at the start of a run. Fields: 3 session_start_info with 1 hparams (a map) and 5 start_time_secs. */
export const start = (opened: RunRecord.Opened): Uint8Array =>
  summary(
    "_hparams_/session_start_info",
    Protobuf.message(3, [
      ...settingsOf(opened).map(([name, given]) =>
        Protobuf.message(1, [Protobuf.text(1, name), Protobuf.message(2, [value(given)])])
      ),
      Protobuf.double(5, opened.at / 1000)
    ])
  )

/** `HParamsPluginData` at the end of a run. Fields: 4 session_end_info with 1 status (1 success, 2 failure) and 2 end_time_secs. */
export const end = (record: RunRecord.Finished | RunRecord.Failed): Uint8Array =>
  summary(
    "_hparams_/session_end_info",
    Protobuf.message(4, [
      Protobuf.whole(1, record._tag === "Finished" ? 1 : 2),
      Protobuf.double(2, record.at / 1000)
    ])
  )

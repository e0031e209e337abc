/** The backends that a run can be given to. */
import type { Tinker, Tokenizer } from "@effect-rl/core"
import type { EngineError } from "@effect-rl/engine/Engine"
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import type * as Path from "effect/Path"
import type { AnswerKey } from "./AnswerKey.ts"

export type Name = "engine" | "mock"

export type Backend = Layer.Layer<
  Tinker.Tinker | Tokenizer.Tokenizers,
  EngineError,
  AnswerKey | FileSystem.FileSystem | Path.Path
>

const engine = (checkpoints: string): Backend =>
  Layer.unwrap(Effect.map(
    Effect.promise(() => import("@effect-rl/engine")),
    ({ Engine }) => Engine.layerOptions({ checkpoints })
  ))

const mock = (model: string): Backend =>
  Layer.unwrap(Effect.map(Effect.promise(() => import("./MockBackend.ts")), ({ layer }) => layer(model)))

/** Only the one asked for is loaded. */
export const layer = (
  name: Name,
  options: { readonly model: string; readonly checkpoints: string }
): Backend => name === "engine" ? engine(options.checkpoints) : mock(options.model)

/** The kind of server, and the requests that it supports. */
import { type Loss, TinkerError } from "@effect-rl/core"
import type { Capabilities, Datum } from "@effect-rl/core/backend"
import * as Effect from "effect/Effect"
import * as Wire from "../wire/Service.ts"
import * as CheckpointPath from "./CheckpointPath.ts"

/**
 * `hosted` is Thinking Machines' service and `effect-rl` a server of this project. `skyrl` is a SkyRL server with an unknown training
 * backend, `skyrl-jax` one that trains with JAX, and `skyrl-train` one that trains with FSDP or Megatron.
 */
export type Kind = "hosted" | "effect-rl" | "skyrl" | "skyrl-jax" | "skyrl-train" | "other"

export const hosted = "https://tinker.thinkingmachines.dev/services/tinker-prod"

const isSkyRL = (kind: Kind) => kind.startsWith("skyrl")

const skyRLSession = /^session_[0-9a-f]{8}$/

/** Detects the server by its address, by fields that only servers of this project send, or by SkyRL's session names. */
export const detect = (
  baseUrl: string,
  sessionId: string,
  models: ReadonlyArray<Wire.SupportedModel>
): Kind => {
  if (new URL(baseUrl).origin === new URL(hosted).origin) return "hosted"
  if (models.some(({ effect_rl }) => effect_rl !== undefined)) return "effect-rl"
  return skyRLSession.test(sessionId) ? "skyrl" : "other"
}

const reductions: Readonly<Record<Kind, Capabilities.LossReduction>> = {
  "hosted": "token-sum",
  "effect-rl": "token-sum",
  "skyrl": "unknown",
  "skyrl-jax": "sequence-mean",
  "skyrl-train": "unknown",
  "other": "unknown"
}

/** The assumed features of a server kind beyond those of every backend, for servers that do not report them. */
const additions = (kind: Kind): Pick<Capabilities.Capabilities, "losses" | "sampling"> => {
  return kind === "hosted" || kind === "other" ? Wire.newest : {}
}

/** The capabilities that the server reports for a model, completed with those of its kind. */
export const capabilities = (kind: Kind, model: Wire.SupportedModel): Capabilities.Capabilities => ({
  ...additions(kind),
  ...Wire.capabilities(model),
  ...(model.effect_rl === undefined ? { lossReduction: reductions[kind] } : {}),
  ...(isSkyRL(kind) ? { topkPromptLogprobs: 0 } : {})
})

type Checked = Effect.Effect<void, TinkerError.Reason>

const unsupported = (capability: string, detail: string) =>
  Effect.fail(new TinkerError.Unsupported({ capability, detail }))

const all = (...checks: ReadonlyArray<readonly [isMissing: boolean, capability: string, detail: string]>): Checked => {
  const missing = checks.find(([isMissing]) => isMissing)
  return missing === undefined ? Effect.void : unsupported(missing[1], missing[2])
}

const name = /^[a-zA-Z0-9_-]{1,255}$/

/** Checks requests for a server of this kind. Requests that the server would ignore are refused here. */
export interface Dialect {
  readonly kind: Kind
  /** Whether the mask is sent as `weights`; without them the server also trains on prompt tokens. */
  readonly sendsMask: boolean
  /** Whether a sample ends only at requested stops. */
  readonly needsStops: boolean
  /** Whether weights can be saved in a format that other programs load. */
  readonly savesExternal: boolean
  /** Whether weights can be saved for samplers that follow later updates. */
  readonly savesInflight: boolean
  readonly loss: (
    loss: Loss.Loss<Datum.Kind>,
    data: ReadonlyArray<Datum.Datum<Datum.Kind>>,
    reduction: Capabilities.LossReduction
  ) => Checked
  readonly adam: (gradClipNorm: number) => Checked
  readonly lora: (trains: Readonly<Record<"train_unembed" | "train_mlp" | "train_attn", boolean>>) => Checked
  readonly save: (name: string, hasTtl: boolean) => Checked
  /** Checks a path whose checkpoint is requested as this type. */
  readonly path: (path: string, type: CheckpointPath.CheckpointPath["type"]) => Checked
  /** Checks a load; `isFirst` is true for a model's first request. */
  readonly load: (isFirst: boolean) => Checked
}

const unmasked = "the server averages over sequences, prompts included, and does not say that it takes a mask: " +
  "gradients would shrink with the prompt's length; see `allowUnmaskedLoss`"

export interface Options {
  /** Allows policy losses even if the server also trains on prompt tokens. */
  readonly allowUnmaskedLoss: boolean
}

const common = ({ allowUnmaskedLoss }: Options, sendsMask: boolean) =>
  ({
    sendsMask,
    needsStops: false,
    savesExternal: true,
    savesInflight: true,
    loss: (loss, _, reduction) =>
      all([
        loss.kind === "PolicyTokens" && reduction === "sequence-mean" && !sendsMask && !allowUnmaskedLoss,
        "policy loss",
        unmasked
      ]),
    adam: () => Effect.void,
    lora: () => Effect.void,
    save: () => Effect.void,
    path: () => Effect.void,
    load: () => Effect.void
  }) satisfies Omit<Dialect, "kind">

/** Refuses malformed paths here, because SkyRL answers them with an internal error. */
const skyRLPath: Dialect["path"] = (path, type) =>
  Effect.matchEffect(CheckpointPath.parse(path), {
    onFailure: () => Effect.fail(new TinkerError.NotFound({ kind: "checkpoint", name: path, available: [] })),
    onSuccess: (parsed) =>
      parsed.type === type
        ? Effect.void
        : Effect.fail(new TinkerError.Rejected({ detail: `path is "${path}", expected ${type} weights` }))
  })

const skyRL: Omit<Dialect, "kind"> = {
  path: skyRLPath,
  sendsMask: true,
  needsStops: true,
  savesExternal: false,
  savesInflight: false,
  loss: (loss, data) =>
    all(
      [loss.name === "dro", "loss", "SkyRL has no dro, take importance_sampling, ppo or cispo"],
      [loss.name === "gspo", "loss", "not every backend of SkyRL has gspo, take PolicyLoss.gspo()"],
      [
        data.some(({ inputs }) => "candidates" in inputs),
        "WeightedCandidates",
        "SkyRL takes one target per position"
      ]
    ),
  adam: (gradClipNorm) => all([gradClipNorm > 0, "gradClipNorm", "SkyRL ignores it, leave it at 0"]),
  lora: (trains) =>
    all([
      Object.values(trains).includes(false),
      Object.entries(trains).find(([, value]) => !value)?.[0] ?? "lora",
      "SkyRL trains everything, or what its own configuration says"
    ]),
  save: (path, hasTtl) =>
    name.test(path)
      ? all([hasTtl, "ttl", "SkyRL keeps checkpoints forever"])
      : Effect.fail(
        new TinkerError.Rejected({ detail: `name is "${path}", expected at most 255 of a-z, A-Z, 0-9, _ and -` })
      ),
  load: (isFirst) => all([!isFirst, "loadState", "SkyRL loads only into a new client, before any other request of it"])
}

export const make = (kind: Kind, options: Options): Dialect => ({
  kind,
  ...(isSkyRL(kind) ? skyRL : common(options, false))
})

/**
 * Every setting in core, with its default, its accepted values, and whether a resumed run must have the same value. A changed line changes
 * what users' runs do.
 */
import { Limits, Pace, Setting } from "@effect-rl/core"
import { AdamParams } from "@effect-rl/core/backend"
import { TerminationReward } from "@effect-rl/core/environments"
import { KlPenalty, NamedLoss } from "@effect-rl/core/losses"
import { Caps, DynamicSampling, HealthWatch, RlOptions, RunOptions, SamplingSettings } from "@effect-rl/core/program"
import * as Group from "@effect-rl/core/rollout/Group"
import { Schema } from "effect"
import { expect, it } from "vitest"

const structs: Readonly<Record<string, Setting.Struct>> = {
  sampling: SamplingSettings.SamplingSettings,
  "rollout.dynamic": DynamicSampling.DynamicSettings,
  rollout: RlOptions.RolloutSettings,
  "update.loss": Schema.Struct(NamedLoss.options),
  "update.adam": AdamParams.AdamSettings,
  "update.kl": KlPenalty.KlSettings,
  "rollout.bounds": Group.BoundSettings,
  "rollout.limits": Limits.LimitSettings,
  "rollout.termination": TerminationReward.TerminationSettings,
  update: RlOptions.UpdateSettings,
  pace: Pace.PaceSettings,
  "pace.settings": Pace.AsyncSettings,
  "pace.streaming": Pace.StreamingSettings,
  stopOn: HealthWatch.HealthSettings,
  lora: RunOptions.LoraSettings,
  run: RunOptions.RunSettings,
  caps: Caps.CapSettings
}

const described = ([name, { fields }]: readonly [string, Setting.Struct]) =>
  Object.entries(fields).map(([key, field]) => {
    const setting = Setting.of(field)
    const value = setting?.default === undefined ? "left out" : JSON.stringify(setting.default)
    return `${name}.${key}: ${value}, ${setting?.expected ?? "settings of their own"}${
      setting?.identity === true ? ", identity" : ""
    }`
  })

it("settings keep their defaults, their bounds and their part in a run's identity", async () => {
  await expect(`${Object.entries(structs).flatMap(described).join("\n")}\n`).toMatchFileSnapshot("./settings.txt")
})

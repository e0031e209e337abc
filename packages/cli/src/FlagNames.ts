/** Other names of flags: those of other libraries' trainers, and abbreviations. */

/** Names that people type, and the effect-rl flags that they may mean, the likeliest first. */
const byOtherName: Readonly<Record<string, ReadonlyArray<string>>> = {
  lr: ["learning-rate"],
  "lr-scheduler": ["schedule"],
  "lr-scheduler-type": ["schedule"],
  "warmup-steps": ["warmup"],
  "warmup-ratio": ["warmup"],
  "batch-size": ["batch-size", "groups-per-batch"],
  "train-batch-size": ["batch-size", "groups-per-batch"],
  "per-device-train-batch-size": ["batch-size", "groups-per-batch"],
  batch: ["batch-size", "groups-per-batch"],
  epochs: ["epochs", "iterations"],
  "num-epochs": ["epochs", "iterations"],
  "num-train-epochs": ["epochs", "iterations"],
  steps: ["iterations"],
  "max-steps": ["iterations"],
  "num-generations": ["group-size"],
  "num-samples": ["group-size"],
  "rollouts-per-example": ["group-size"],
  "max-new-tokens": ["max-tokens"],
  "max-completion-length": ["max-tokens"],
  "max-length": ["max-tokens"],
  "model-name": ["model"],
  "model-name-or-path": ["model"],
  "base-model": ["model"],
  "lora-r": ["lora-rank"],
  rank: ["lora-rank"],
  kl: ["kl-coefficient"],
  "kl-coef": ["kl-coefficient"],
  "kl-penalty-coef": ["kl-coefficient"],
  "max-grad-norm": ["grad-clip-norm"],
  "eval-steps": ["eval-every"],
  "save-steps": ["save-every"],
  "output-dir": ["log-path"],
  output: ["log-path"],
  resume: ["log-path"],
  "report-to": ["sink"],
  threads: ["workers"],
  "advantage-estimator": ["credit"],
  estimator: ["credit"],
  url: ["base-url"]
}

/** The likeliest flag among `known` that a name stands for; undefined if there is none. Names have no leading dashes. */
export const meant = (name: string, known: ReadonlyArray<string>): string | undefined =>
  Object.hasOwn(byOtherName, name) ? byOtherName[name]?.find((flag) => known.includes(flag)) : undefined

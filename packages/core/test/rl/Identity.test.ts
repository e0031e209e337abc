import { Advantage, Credit, LearningRate, Loss, Pace, Rl, RunRecord } from "@effect-rl/core"
import { assert, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import * as Task from "./Task.ts"

it.effect("a run's identity contains every option that a resumed run must not change", () =>
  Effect.gen(function*() {
    const options = yield* Task.options()
    yield* Stream.runDrain(Rl.run({
      ...options,
      lora: { rank: 4, trainMlp: false, trainAttn: true, trainUnembed: false },
      sampling: { maxTokens: 7, temperature: 0.9, topP: 0.8, topK: 5, allowBiased: true },
      rollout: {
        limits: {
          maxTurns: 3,
          maxTrajectoryTokens: 500,
          maxSampledTokens: 90,
          maxTurnTokens: 9,
          rolloutTimeout: "1 minute"
        },
        termination: { zeroRewardOnLimit: true, limitStopReasons: ["max_turns"], skipGradingOnTimeout: true }
      },
      update: {
        learningRate: LearningRate.linear({ peak: 0.01, warmup: 1 }),
        adam: { beta1: 0.8, beta2: 0.9, eps: 1e-6, weightDecay: 0.1, gradClipNorm: 2 },
        loss: Loss.ppo({ clipLow: 0.9, clipHigh: 1.3 }),
        credit: Credit.groupRelative(Advantage.normalized()),
        substeps: 2
      },
      pace: Pace.async({ maxStepsOffPolicy: 0, onStale: "wait" }),
      run: { seed: 11, evalEvery: 0, iterations: 1 }
    }))
    const [opened] = yield* Task.current(RunRecord.guards.Opened)
    const { dataset, ...identity } = opened?.identity ?? {}
    assert.isString(dataset)
    assert.deepStrictEqual(identity, {
      program: "rl",
      model: "effect-rl/scripted",
      renderer: "qwen3_instruct",
      tokenizer: Task.tokenizer.fingerprint,
      loss_reduction: "token-sum",
      lora: { rank: 4, train_mlp: false, train_attn: true, train_unembed: false },
      load_checkpoint_path: null,
      seed: 11,
      max_tokens: 7,
      temperature: 0.9,
      top_p: 0.8,
      top_k: 5,
      learning_rate: { name: "linear", peak: 0.01, warmup: 1 },
      adam: { beta1: 0.8, beta2: 0.9, eps: 1e-6, weight_decay: 0.1, grad_clip_norm: 2 },
      loss: "ppo",
      loss_config: { clip_low_threshold: 0.9, clip_high_threshold: 1.3 },
      credit: { name: "group_relative", estimator: "normalized", deviation: "sample", epsilon: 1e-6 },
      substeps: 2,
      limits: {
        max_turns: 3,
        max_trajectory_tokens: 500,
        max_sampled_tokens: 90,
        max_turn_tokens: 9,
        max_tool_calls: null,
        rollout_timeout: 60
      },
      termination: {
        zero_reward_on_limit: true,
        limit_stop_reasons: ["max_turns"],
        skip_grading_on_timeout: true
      },
      pace: { max_steps_off_policy: 0, on_stale: "wait", minibatches: null }
    })
  }).pipe(Effect.provide(Task.layer({ sample: Task.answersHalf }))))

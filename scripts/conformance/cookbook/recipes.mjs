/** The cookbook recipes that are run, with settings that shorten them, and the recipes that are not run. */
import { resolve } from "node:path"

export const model = "Qwen/Qwen3-4B-Instruct-2507"

/** The model name of the answerer in twenty_questions. */
export const other = "Qwen/Qwen3.5-9B"

const renderer = { model_name: model, renderer_name: "qwen3_instruct" }
const unsaved = { eval_every: 0, save_every: 0 }

const math = {
  ...renderer,
  ...unsaved,
  env: "arithmetic",
  learning_rate: "1e-3",
  lora_rank: 8,
  max_tokens: 32,
  groups_per_batch: 16,
  group_size: 8,
  max_steps: 4
}
const mathRl = "tinker_cookbook.recipes.math_rl.train"
const reward = "env/all/reward/total"

const distilled = {
  ...renderer,
  ...unsaved,
  lora_rank: 8,
  learning_rate: "1e-3",
  groups_per_batch: 8,
  max_tokens: 32,
  max_steps: 4
}
const played = { ...renderer, ...unsaved, learning_rate: "1e-3", max_steps: 2 }
const withKl = resolve("scripts/conformance/cookbook/math_rl_with_kl.py")

/**
 * `settings` may read the folders of recipes that ran before, by `checkpoint(name)`: the last sampler checkpoint of that run. `metric` is
 * what is shown of the first and last step; `log` is where a recipe without `log_path` writes; a recipe that `resumes` another's last state
 * finds it in its own folder, as where it was interrupted itself.
 */
export const recipes = [
  {
    name: "math_rl",
    module: mathRl,
    settings: () => ({ ...math, groups_per_batch: 32, max_steps: 15, loss_fn: "importance_sampling" }),
    metric: reward
  },
  {
    name: "math_rl, async",
    module: mathRl,
    settings: () => ({ ...math, loss_fn: "ppo", max_steps_off_policy: 1 }),
    metric: reward
  },
  {
    name: "math_rl, stream",
    module: mathRl,
    settings: () => ({
      ...math,
      loss_fn: "importance_sampling",
      "stream_minibatch_config.groups_per_batch": 16,
      "stream_minibatch_config.num_minibatches": 2
    }),
    metric: reward
  },
  {
    name: "math_rl, KL against the base model",
    script: withKl,
    settings: () => ({ ...renderer }),
    metric: "kl_policy_base"
  },
  {
    name: "math_rl, KL against a checkpoint",
    script: withKl,
    settings: (checkpoint) => ({ ...renderer, reference_checkpoint: checkpoint("math_rl") }),
    metric: "kl_policy_base"
  },
  {
    name: "sl_loop",
    module: "tinker_cookbook.recipes.sl_loop",
    settings: () => ({
      model_name: model,
      learning_rate: "1e-3",
      lora_rank: 8,
      batch_size: 16,
      max_length: 512,
      max_steps: 32
    }),
    metric: "train_mean_nll"
  },
  {
    name: "rl_loop, from sl_loop",
    resumes: "sl_loop",
    module: "tinker_cookbook.recipes.rl_loop",
    settings: () => ({
      model_name: model,
      loss_fn: "importance_sampling",
      learning_rate: "1e-3",
      lora_rank: 8,
      batch_size: 32,
      group_size: 8,
      max_tokens: 32,
      max_steps: 8
    }),
    metric: "reward/total"
  },
  {
    name: "chat_sl",
    module: "tinker_cookbook.recipes.chat_sl.train",
    settings: () => ({
      ...renderer,
      ...unsaved,
      dataset: "sums.jsonl",
      learning_rate: "1e-3",
      batch_size: 32,
      max_length: 256,
      num_epochs: 1
    }),
    metric: "train_mean_nll"
  },
  {
    name: "dpo",
    module: "tinker_cookbook.recipes.preference.dpo.train",
    settings: () => ({
      ...renderer,
      dataset: "hhh",
      learning_rate: "1e-3",
      batch_size: 16,
      max_length: 256,
      max_steps: 6
    }),
    metric: "dpo_loss"
  },
  {
    name: "rlhf_pipeline",
    module: "tinker_cookbook.recipes.preference.rlhf.rlhf_pipeline",
    settings: () => ({
      base_model: model,
      short_name: "tiny",
      lora_rank: 8,
      max_length: 512,
      batch_size: 8,
      rl_max_tokens: 16,
      rl_learning_rate: "1e-3",
      save_every: 0,
      eval_every: 0,
      max_steps: 3
    }),
    log: "runs/rlhf-tiny/rl",
    metric: reward
  },
  {
    name: "on_policy_distillation, teacher from a checkpoint",
    module: "tinker_cookbook.recipes.distillation.on_policy_distillation",
    settings: (checkpoint) => ({
      ...distilled,
      teacher_model: model,
      teacher_checkpoint: checkpoint("math_rl"),
      dataset: "deepmath",
      group_size: 4
    }),
    metric: "teacher_kl"
  },
  {
    name: "sdft, forward",
    module: "tinker_cookbook.recipes.sdft.train",
    settings: () => distilled,
    metric: "sdft/mean_teacher_entropy"
  },
  {
    name: "sdft, reverse",
    module: "tinker_cookbook.recipes.sdft.train",
    settings: () => ({ ...distilled, reverse: "True" }),
    metric: "sdft/reverse_kl_loss"
  },
  {
    name: "text_arena",
    module: "tinker_cookbook.recipes.multiplayer_rl.text_arena.train",
    settings: () => ({ ...played, batch_size: 16, num_train_datapoints: 32, num_test_datapoints: 2, max_tokens: 16 }),
    metric: reward
  },
  {
    name: "guess_number",
    module: "tinker_cookbook.recipes.multiplayer_rl.guess_number.train",
    settings: () => ({ ...played, batch_size: 8, group_size: 4, max_tokens: 16 }),
    metric: reward
  },
  {
    name: "twenty_questions",
    module: "tinker_cookbook.recipes.multiplayer_rl.twenty_questions.train",
    settings: () => ({ ...played, batch_size: 4, group_size: 2, max_tokens: 16 }),
    metric: reward
  },
  {
    name: "rubric",
    module: "tinker_cookbook.recipes.rubric.train",
    settings: () => ({
      ...played,
      lora_rank: 8,
      train_jsonl_path: "rubric_train.jsonl",
      test_jsonl_path: "rubric_test.jsonl",
      grader_llm_name: other,
      loss_fn: "importance_sampling",
      groups_per_batch: 8,
      train_group_size: 4,
      max_tokens: 32
    }),
    metric: reward
  },
  {
    name: "shorter",
    module: "tinker_cookbook.recipes.preference.shorter.train",
    settings: () => ({
      ...renderer,
      learning_rate: "1e-3",
      batch_size: 4,
      group_size: 4,
      max_tokens: 16,
      eval_every: 0,
      max_steps: 2
    }),
    metric: reward
  },
  {
    name: "math_rl with its own loss",
    module: mathRl,
    settings: () => ({ ...math, max_steps: 1 }),
    refused: "stable_reinforce"
  }
]

/** What the other recipes need to run. */
export const left = [
  ["`audio`, `vlm_classifier`", "models that hear or see, and their datasets"],
  ["`code_rl`, `harbor_rl`, `on_policy_distillation_harbor_multi_turn`", "a sandbox, by Modal or Docker"],
  ["`search_tool`", "Google's embeddings and a Chroma server"],
  ["`verifiers_rl`", "an environment of the package verifiers"],
  ["`forecasting`, `decisions`", "a table of Prophet Arena's from the hub"],
  [
    "`off_policy_reasoning`, `on_policy_multi_teacher`, `true_thinking_score`, `rl_numerics_check`",
    "datasets of the hub that no folder stands in for here"
  ],
  ["`prompt_distillation`", "answers of Qwen3.6-35B-A3B, of which it makes its data"],
  ["`rl_basic`, `sl_basic`", "nothing: the trainings of `math_rl` and `chat_sl` in larger batches"]
]

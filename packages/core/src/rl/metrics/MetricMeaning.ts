/** What each iteration metric means. */

/**
 * A name that ends in `*` covers a family of metrics; the `*` in its text stands for the rest of the metric's name. Exact names precede
 * their family.
 */
const meanings: Readonly<Record<string, string>> = {
  "progress/batch": "Index of the iteration",
  "progress/done_frac": "Share of the run's iterations that are done",
  "time/sampling": "Seconds of sampling",
  "time/training": "Seconds from the first update's submission to the end of the last",
  "time/*": "Seconds of the evaluation",
  "tokens/prefilled": "Tokens of prompts that the iteration's attempts read",
  "tokens/sampled": "Tokens that the iteration's attempts wrote",
  "tokens/trained": "Tokens of the sequences that were trained on, prompts included",
  "tokens/total_*": "Tokens of the iterations so far, without evaluations",
  "groups/total": "Groups that were rolled out",
  "groups/informative": "Groups whose attempts earned different rewards",
  "groups/all_good": "Groups whose attempts all did well",
  "groups/all_bad": "Groups whose attempts all did badly",
  "groups/partial": "Groups that lost attempts and continued with the others",
  "groups/skipped": "Groups that were given up",
  "groups/skipped/*": "Groups that were given up because of *",
  "members/started": "Attempts that began",
  "members/lost/*": "Attempts that were left out because of *",
  "members/dropped": "Attempts that failed in groups that continued without them",
  "members/dropped/*": "Attempts that were dropped because of *",
  "rollout_errors/*": "Failed attempts: *",
  "train/groups": "Groups that were trained on",
  "train/episodes": "Attempts of the groups that were trained on",
  "train/discarded_groups": "Groups that were sampled and not trained on",
  "train/discarded_tokens": "Tokens that were sampled and not trained on",
  "train/reward/*": "Reward of the attempts that were trained on",
  "optim/lr": "Learning rate of the iteration's steps",
  "optim/datums": "Sequences that were trained on",
  "optim/action_tokens": "Sampled tokens that were trained on",
  "optim/target_tokens": "Tokens that counted in the loss",
  "optim/missing_logprobs": "Trained tokens whose log-probability the backend did not give",
  "optim/branched_datums":
    "Further sequences of an attempt, each begun because a prompt did not extend the previous turn",
  "optim/branched_members": "Share of the attempts with more than one sequence",
  "optim/ratio_mean": "Mean importance ratio of the trained tokens: 1 if the trainer equals the sampler",
  "optim/ratio_share/*": "Share of the trained tokens whose importance ratio is in the interval that begins at *",
  "optim/kl_v1_by_depth/*": "First estimate of the divergence, for tokens in the interval that begins at position *",
  "optim/kl_k3_by_depth/*": "Third estimate of the divergence, for tokens in the interval that begins at position *",
  "async/filtered": "Groups that were left out because they teach nothing",
  "async/stale": "Groups that were left out because they are too old",
  "async/in_flight_*": "Number of iterations during which a group was sampled",
  "async/in_queue_*": "Number of iterations for which a finished group waited for its update",
  "async/newer_weights_*":
    "Optimizer steps by which the weights of turns are newer than those with which their group began",
  "async/*": "Iterations between the weights with which a group was started and those that were trained on it",
  "audit/quarantined": "Groups that were left out because an attempt is suspected of exploiting its reward",
  "loss:sum": "Loss of the iteration's updates, added up over the trained tokens",
  "dpo/pairs": "Pairs of answers that were trained on",
  "dpo/loss": "Mean loss of the pairs",
  "dpo/accuracy": "Share of the pairs whose chosen answer the policy prefers",
  "dpo/margin":
    "Mean difference between the implicit rewards of the chosen and the rejected answer: the growth of their log-probability difference, times beta",
  "dpo/*": "Mean implicit reward of the answers",
  "kl_policy_base":
    "Divergence of the sampler from the reference weights: its log-probability minus theirs, mean over the trained tokens",
  "kl_pre_post_v1": "Mean decrease of the log-probabilities of the trained tokens through an update",
  "kl_pre_post_v2":
    "Half the mean square of the changes of the log-probabilities of the trained tokens through an update",
  "teacher_kl":
    "Divergence of the student from its teacher: its log-probability minus the teacher's, mean over the trained tokens",
  "teacher_kl/*": "Divergence of the student from the teacher of *, mean over the trained tokens",
  "kl_forbidden": "Share of the trained tokens that the reference forbids, or finds less likely than e⁻⁵⁰",
  "teacher_forbidden": "Share of the trained tokens that the teacher forbids, or finds less likely than e⁻⁵⁰",
  "teacher_forbidden/*": "Share of the trained tokens that the teacher of * forbids, or finds less likely than e⁻⁵⁰",
  "teacher_truncated":
    "Share of the sequences whose end was not taught: it lies beyond the teacher's context, or its tokens cannot write it",
  "teacher_truncated/*": "Share of the sequences whose end the teacher of * did not teach",
  "service/*": "What the backend reports as *",
  "env/all/total_episodes": "Attempts that finished",
  "env/all/total_turns": "Turns of all attempts",
  "env/all/total_ac_tokens": "Tokens that the attempts wrote",
  "env/all/total_ob_tokens": "Tokens that the attempts read",
  "env/all/ac_tokens_per_turn": "Tokens written in a turn, on average",
  "env/all/ob_tokens_per_turn": "Tokens read in a turn, on average",
  "env/all/turns_per_episode": "Turns of an attempt, on average",
  "env/all/truncations_per_episode":
    "Turns of an attempt that were cut at their token limit and did not end it, on average",
  "env/all/response_tokens/max": "Tokens of the longest attempt",
  "env/all/stop/*": "Share of the attempts that ended by *",
  "env/all/branches/*": "Turns whose prompt did not extend the previous turn: *",
  "env/all/reward/total": "Mean reward of the attempts that finished",
  "env/all/reward/standard_error": "Standard error of the mean reward, with groups as the unit",
  "env/all/reward/lost_as_zero": "Mean reward if each lost attempt counts as 0",
  "env/all/by_group/frac_all_good": "Share of the groups whose attempts all did well",
  "env/all/by_group/frac_all_bad": "Share of the groups whose attempts all did badly",
  "env/all/*": "What the environment reports as *"
}

/** The name without its `*`, if the metric has that name or belongs to its family; undefined otherwise. */
const matched = (name: string, metric: string) => {
  const stem = name.replace(/\*$/, "")
  return (stem === name ? metric === name : metric.startsWith(stem)) ? stem : undefined
}

/** The meaning of a metric, from the first name that matches; undefined if none does. */
export const of = (metric: string): string | undefined => {
  for (const [name, meaning] of Object.entries(meanings)) {
    const stem = matched(name, metric)
    if (stem !== undefined) return meaning.replaceAll("*", metric.slice(stem.length))
  }
  return undefined
}

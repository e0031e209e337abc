/** Losses as expressions: their terms, their graphs and what an update minimises. Advanced. */

/** A loss as one typed expression over the log-probabilities of one datum. */
export * as LossExpression from "./losses/LossExpression.ts"
/** Terms of a loss expression: numbers and conditions, per token or per sequence. */
export * as LossTerm from "./losses/LossTerm.ts"
/**
 * The loss of one datum as data: the same graph of torch operations that the Tinker SDK (0.38) records from the Python function given to
 * `create_custom_loss`.
 */
export * as LossGraph from "./losses/LossGraph.ts"
/** Evaluates the graphs of loss expressions and their gradients. */
export * as LossProgram from "./losses/LossProgram.ts"
/** The losses that can be selected by name, with their options and constructors. */
export * as NamedLoss from "./rl/NamedLoss.ts"
/** The objective that an update minimises over the tokens that received credit. */
export * as Objective from "./rl/Objective.ts"
/** The KL penalty of a run: its settings, and the reference weights that they name. */
export * as KlPenalty from "./rl/KlPenalty.ts"
/**
 * The DPO loss: −log σ(β·[(c − c_ref) − (r − r_ref)]), averaged over pairs, where c and r are the log-probabilities of the chosen and the
 * rejected response, and c_ref and r_ref are those under the reference policy (Rafailov et al., 2023).
 */
export * as DpoLoss from "./preference/DpoLoss.ts"
